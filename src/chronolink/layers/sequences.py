"""Both histories of asked pairs, packed"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..draws import fold
from ..history import History
from ..query import LinkQuery
from ..time_encoder import TimeEncoder


@dataclass(frozen=True, slots=True)
class Sequences:
    """The sequences of all asked pairs: first those of the sources, then those of the destinations.

    A sequence is a node's latest events strictly before the asked time, oldest first, and the asked event itself as
    the last one (its neighbour is the other node of the pair, and it has no edge features yet). It is cut into
    patches of `patch` events, the first patch from its oldest event on; only patches that hold an event are kept, one
    after the other, and a slot without an event counts for nothing.
    """

    node: Tensor  # [patches, patch] int64, the other end of each event
    event: Tensor  # [patches, patch] int64, row in the edge features
    number: Tensor  # [patches, patch], what the time encoder encodes
    own: Tensor  # [patches, patch] int64, how often that other end occurs in this sequence
    other: Tensor  # [patches, patch] int64, and in the sequence of the pair's other node
    filled: Tensor  # [patches, patch] bool
    past: Tensor  # [patches, patch] bool, filled by an event that has happened
    sequence: Tensor  # [patches] int64, which sequence a patch belongs to
    column: Tensor  # [patches] int64, its place in that sequence
    key: Tensor  # [patches] int64, the same for the same question in any batch

    @classmethod
    def of(cls, query: LinkQuery, history: History, encoder: TimeEncoder, length: int, patch: int) -> Sequences:
        """The latest `length` - 1 events and the asked one."""
        node, partner = torch.cat([query.source, query.destination]), torch.cat([query.destination, query.source])
        time = query.time.repeat(2)
        past = history.before(node, time, length - 1)
        now = encoder.number(torch.zeros_like(time)).unsqueeze(1)
        columns = {
            "node": torch.cat([past.node, partner.unsqueeze(1)], dim=1),
            "event": torch.cat([past.event, torch.zeros_like(partner).unsqueeze(1)], dim=1),
            "number": torch.cat([encoder.measure(past), now], dim=1),
        }
        size = past.valid.sum(1) + 1
        slots = -(-length // patch) * patch
        slot = torch.arange(slots, device=node.device).expand(len(node), slots)
        filled = slot < size.unsqueeze(1)
        source = (slot + (length - size).unsqueeze(1)).clamp(max=length - 1)
        columns = {name: value.gather(1, source) for name, value in columns.items()}
        columns["own"], columns["other"] = _counts(columns["node"], filled, history.num_nodes)
        columns["filled"], columns["past"] = filled, slot < (size - 1).unsqueeze(1)
        patches = slots // patch
        kept = filled[:, ::patch]
        whole = torch.arange(patches, device=node.device).expand(len(node), patches)
        sequence = torch.arange(len(node), device=node.device).unsqueeze(1).expand(len(node), patches)
        question = fold(node, partner, history.position(time)).unsqueeze(1)
        return cls(
            **{name: value.view(len(node), patches, patch)[kept] for name, value in columns.items()},
            sequence=sequence[kept],
            column=whole[kept],
            key=fold(question, whole)[kept],
        )


def _counts(node: Tensor, filled: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """How often each neighbour occurs in its own sequence and in the pair's other one, by sorting."""
    side, pair = 2, len(node) // 2
    of_pair = torch.arange(pair, device=node.device).repeat(side).unsqueeze(1)
    of_side = torch.arange(side, device=node.device).repeat_interleave(pair).unsqueeze(1).expand(node.shape)[filled]
    distinct, place = torch.unique((of_pair * num_nodes + node)[filled], return_inverse=True)
    counts = torch.bincount(place * side + of_side, minlength=len(distinct) * side).view(-1, side)
    own, other = torch.zeros_like(node), torch.zeros_like(node)
    own[filled], other[filled] = counts[place, of_side], counts[place, 1 - of_side]
    return own, other
