"""Entries left out, in one pass over the rows"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..draws import lanes
from .compiled import compiled, draw, over_rows, room

WORD = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes: a zero is the same in every type


def masked(x: Tensor, key: Tensor, least: int) -> Tensor:
    """x [rows, ...] with zeros, written into x itself, where the `lanes` of key [rows] are below `least`.

    On a CPU the loop is compiled: a row's draws stay in the cache, and no mask is kept for the gradient, which is drawn
    anew. That takes a fifth of the time of torch's passes.
    """
    found: Tensor = _Masked.apply(x, key, least)  # type: ignore[no-untyped-call]
    return found


class _Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, key: Tensor, least: int) -> Tensor:
        ctx.save_for_backward(key)
        ctx.least = least
        ctx.mark_dirty(x)
        return _mask(x, key, least, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (key,) = ctx.saved_tensors
        return _mask(gradient, key, ctx.least, torch.empty_like(gradient)), None, None


def _mask(x: Tensor, key: Tensor, least: int, out: Tensor) -> Tensor:
    if x.device.type != "cpu" or not x.is_contiguous() or not x.numel():
        return torch.mul(x, (lanes(key, x[0].numel() if len(x) else 0) >= least).view(x.shape), out=out)
    words, kept = (part.detach().view(len(x), -1).view(WORD[x.element_size()]) for part in (x, out))
    over_rows(_blank if x is out else _keep, words, key, np.int16(least), kept)
    return out


@compiled
def _keep(x: Any, key: Any, least: Any, out: Any, start: int, end: int) -> None:
    drawn, lane = room(x.shape[1])
    for number in range(start, end):
        draw(key[number], drawn)
        row, kept = x[number], out[number]
        for column in range(len(row)):
            kept[column] = row[column] if lane[column] >= least else 0


@compiled
def _blank(x: Any, key: Any, least: Any, _out: Any, start: int, end: int) -> None:
    """`_keep` in place, a loop of its own: one that may write what it reads cannot take several entries at once."""
    drawn, lane = room(x.shape[1])
    for number in range(start, end):
        draw(key[number], drawn)
        row = x[number]
        for column in range(len(row)):
            row[column] = row[column] if lane[column] >= least else 0
