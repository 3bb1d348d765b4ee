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


def over_rows(loop: Any, *given: Any) -> None:
    """loop(*given, start, end), tensors as arrays, over all rows of the first one, [rows, columns].

    They are shared out among as many threads as torch has; which one has a row changes nothing.
    """
    rows, size = len(given[0]), given[0].numel()
    given = tuple(part.detach().contiguous().numpy() if isinstance(part, Tensor) else part for part in given)
    threads = torch.get_num_threads() if size >= FEWEST else 1
    first, *rest = pairwise(rows * number // threads for number in range(threads + 1))
    waiting = [_pool(threads).submit(loop, *given, *cut) for cut in rest]
    loop(*given, *first)
    for other in waiting:
        other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rows")


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay with the parent


def compiles(x: Tensor) -> bool:
    """Whether there are loops for it: single precision on a CPU."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")


@compiled
def draw(key: int, drawn: Any) -> None:
    """`lanes` of one row, four to a word."""
    for place in range(len(drawn)):
        mixed = np.uint64(key) + np.uint64(place) * _STEP
        mixed = (mixed ^ (mixed >> _32)) * _FIRST
        mixed = (mixed ^ (mixed >> _29)) * _SECOND
        drawn[place] = mixed ^ (mixed >> _32)
