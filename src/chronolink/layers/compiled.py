"""Compiled loops over rows, and the draws in them"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ..draws import FIRST, GOLDEN, SECOND

Loop = TypeVar("Loop", bound=Callable[..., Any])
FEWEST = 1 << 15  # entries that are worth a second thread
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


def over_rows(loop: Any, x: Tensor, key: Tensor, *others: Any) -> None:
    """loop(x, key, *others, start, end) over the rows of x [rows, columns] with key [rows] int64.

    They are shared out among as many threads as torch has; which one has a row changes nothing.
    """
    given = (x.numpy(), key.contiguous().numpy().view(np.uint64), *others)
    threads = torch.get_num_threads() if x.numel() >= FEWEST else 1
    first, *rest = pairwise(len(x) * number // threads for number in range(threads + 1))
    waiting = [_pool(threads).submit(loop, *given, *cut) for cut in rest]
    loop(*given, *first)
    for other in waiting:
        other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rows")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay with the parent


@compiled
def draw(key: Any, drawn: Any) -> None:
    """`lanes` of one row, four to a word."""
    for place in range(len(drawn)):
        mixed = key + np.uint64(place) * _STEP
        mixed = (mixed ^ (mixed >> _32)) * _FIRST
        mixed = (mixed ^ (mixed >> _29)) * _SECOND
        drawn[place] = mixed ^ (mixed >> _32)
