"""Backward walks, each hop strictly earlier"""

from __future__ import annotations

from dataclasses import fields

import torch
from torch import Tensor

from ..draws import fold
from ..history import History, Neighbours
from ..sampling import Sampling


def draw_walks(history: History, node: Tensor, time: Tensor, walks: int, length: int, sampling: Sampling) -> Neighbours:
    """Walks of each asked (node, time), [asked, walks, length]: along its last axis a walk is a past, oldest first.

    The first hops are the node's events before its time as `sampling` chooses them, every later hop is one event of the
    node reached, strictly before the hop that reached it. A walk ends where nothing earlier is left, and is shorter.
    `elapsed` is the time since each hop at the asked moment. Draws depend on seed, asked node, number of events before
    its time, walk and hop, and on what they are drawn from: a question has the same walks alone and in any batch.
    """
    hops = [history.before(node, time, walks, sampling)]
    walk = fold(node.unsqueeze(1), history.position(time).unsqueeze(1), torch.arange(walks, device=node.device))
    for hop in range(1, length):
        last = hops[-1]
        own = sampling.keyed(fold(walk, hop))
        hops.append(_flat(history.before(last.node, last.time, 1, own), last.valid))
    columns = {f.name: torch.stack([getattr(hop, f.name) for hop in hops[::-1]], dim=-1) for f in fields(Neighbours)}
    elapsed = time.view(-1, 1, 1) - columns["time"]
    return Neighbours(**{**columns, "elapsed": elapsed.masked_fill_(~columns["valid"], 0.0)})


def taken(walks: Neighbours, place: Tensor) -> Neighbours:
    """The walks of the asked ones at `place`."""
    return Neighbours(*(getattr(walks, field.name).index_select(0, place) for field in fields(Neighbours)))


def _flat(one: Neighbours, before: Tensor) -> Neighbours:
    """[..., 1] to [...]; where the walk had ended before there is no hop."""
    columns = {field.name: getattr(one, field.name).squeeze(-1) for field in fields(Neighbours)}
    return Neighbours(**{**columns, "valid": columns["valid"] & before})
