"""Compiled loops over rows, and the draws in them"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ..draws import FIRST, GOLDEN, SECOND
from .threads import together

Loop = TypeVar("Loop", bound=Callable[..., Any])
FEWEST = 1 << 15  # entries that are worth a second thread
BLOCKS = 8  # of rows, a thread
_STEP, _FIRST, _SECOND = (np.uint64(number % (1 << 64)) for number in (GOLDEN, FIRST, SECOND))
_29, _32 = np.uint64(29), np.uint64(32)  # with a plain number the result would be a float


def compiled(loop: Loop) -> Loop:
    """Free of Python's lock; sums may be taken in any order, and nothing asks whether a divisor is zero: such checks
    keep entries from being taken several at once.
    """
    return cast(Loop, njit(nogil=True, fastmath=True, error_model="numpy")(loop))


def inlined(part: Loop) -> Loop:
    """A part of a compiled loop."""
    return cast(Loop, njit(inline="always", fastmath=True, error_model="numpy")(part))


def over_rows(loop: Any, *given: Any, sums: Sequence[Tensor] = ()) -> None:
    """loop(*given, *sums, start, end), tensors as arrays, over all rows of the first one, [rows, columns].

    As many threads as torch has take blocks of rows, one after the other, as one of them may be held up. Every row may
    add to `sums`; there are then as many blocks as threads, with sums of their own, so that they are added up in the
    same order whoever takes them.
    """
    rows, size = len(given[0]), given[0].numel()
    threads = torch.get_num_threads() if size >= FEWEST else 1
    count = threads if sums or threads == 1 else threads * BLOCKS
    cuts = pairwise(rows * number // count for number in range(count + 1))
    own = [sums, *([torch.zeros_like(total) for total in sums] for _ in range(1, count))]
    arrays = _arrays(given)
    tasks = deque((*arrays, *_arrays(part), *cut) for part, cut in zip(own, cuts, strict=True))
    together(partial(_take, loop, tasks), threads)
    for part in own[1:]:
        for total, added in zip(sums, part, strict=True):
            total.add_(added)


def _take(loop: Any, tasks: deque[tuple[Any, ...]]) -> None:
    while True:
        try:
            task = tasks.popleft()
        except IndexError:
            return
        loop(*task)


def _arrays(given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(part.detach().contiguous().numpy() if isinstance(part, Tensor) else part for part in given)


def compiles(x: Tensor) -> bool:
    """Whether there are loops for it: single precision on a CPU."""
    return x.device.type == "cpu" and x.dtype == torch.float32


@compiled
def draw(key: int, drawn: Any) -> None:
    """`lanes` of one row, four to a word."""
    for place in range(len(drawn)):
        mixed = np.uint64(key) + np.uint64(place) * _STEP
        mixed = (mixed ^ (mixed >> _32)) * _FIRST
        mixed = (mixed ^ (mixed >> _29)) * _SECOND
        drawn[place] = mixed ^ (mixed >> _32)


@inlined
def room(columns: int) -> Any:
    """Where a row's draws go, and the lanes that they are."""
    drawn = np.empty((columns + 3) // 4, np.uint64)
    return drawn, drawn.view(np.int16)
