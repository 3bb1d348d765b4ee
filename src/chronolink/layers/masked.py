"""Entries left out, in one pass over the rows"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from ..draws import FIRST, GOLDEN, SECOND, lanes

WORD = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes: a zero is the same in every type
FEWEST = 1 << 15  # entries that are worth a second thread
_STEP, _FIRST, _SECOND = (np.uint64(number % (1 << 64)) for number in (GOLDEN, FIRST, SECOND))
_29, _32 = np.uint64(29), np.uint64(32)  # with a plain number the result would be a float


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
    words, kept = (part.detach().view(len(x), -1).view(WORD[x.element_size()]).numpy() for part in (x, out))
    _in_threads(_blank if x is out else _keep, words, key.contiguous().numpy().view(np.uint64), np.int16(least), kept)
    return out


def _in_threads(loop: Any, x: NDArray[Any], *rest: Any) -> None:
    """The rows shared out among as many threads as torch has; which one has a row changes nothing."""
    threads = torch.get_num_threads() if x.size >= FEWEST else 1
    first, *others = pairwise(len(x) * number // threads for number in range(threads + 1))
    waiting = [_pool(threads).submit(loop, x, *rest, *cut) for cut in others]
    loop(x, *rest, *first)
    for other in waiting:
        other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="masked")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay with the parent


@njit(nogil=True)
def _keep(x: Any, key: Any, least: Any, out: Any, start: int, end: int) -> None:
    drawn = np.empty((x.shape[1] + 3) // 4, np.uint64)
    lane = drawn.view(np.int16)
    for number in range(start, end):
        _draw(key[number], drawn)
        row, kept = x[number], out[number]
        for column in range(len(row)):
            kept[column] = row[column] if lane[column] >= least else 0


@njit(nogil=True)
def _blank(x: Any, key: Any, least: Any, _out: Any, start: int, end: int) -> None:
    """`_keep` in place, a loop of its own: one that may write what it reads cannot take several entries at once."""
    drawn = np.empty((x.shape[1] + 3) // 4, np.uint64)
    lane = drawn.view(np.int16)
    for number in range(start, end):
        _draw(key[number], drawn)
        row = x[number]
        for column in range(len(row)):
            row[column] = row[column] if lane[column] >= least else 0


@njit(nogil=True)
def _draw(key: Any, drawn: Any) -> None:
    """`lanes` of one row."""
    for place in range(len(drawn)):
        mixed = key + np.uint64(place) * _STEP
        mixed = (mixed ^ (mixed >> _32)) * _FIRST
        mixed = (mixed ^ (mixed >> _29)) * _SECOND
        drawn[place] = mixed ^ (mixed >> _32)
