"""Work on as many threads as torch has"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def together(work: Callable[[], None], threads: int) -> None:
    """work() on so many threads at once.

    A thread of torch's that has nothing to do spins on its core for milliseconds, which others would have to share with
    it. Where torch's are those of GNU's OpenMP, they do the work; elsewhere a pool does, and in a forked process, which
    has none of them.
    """
    failed: list[BaseException] = []

    def guarded(_: int | None = None) -> None:
        try:
            work()
        except BaseException as error:  # raised by the caller, as no other thread can
            failed.append(error)

    if threads == 1:
        guarded()
    elif (parallel := _openmp()) is not None:
        parallel(_WORK(guarded), None, threads, 0)
    else:
        waiting = [_pool(threads).submit(guarded) for _ in range(1, threads)]
        guarded()
        for other in waiting:
            other.result()
    if failed:
        raise failed[0]


@cache
def _openmp() -> Any:
    """GNU's GOMP_parallel(work, data, threads, flags), which torch has loaded for all; None where it has not."""
    if _forked or not sys.platform.startswith("linux") or not hasattr(loaded := ctypes.CDLL(None), "GOMP_parallel"):
        return None
    loaded.GOMP_parallel.argtypes = [_WORK, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    loaded.GOMP_parallel.restype = None
    return loaded.GOMP_parallel


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rows")


def _forget() -> None:
    """Threads stay with the parent."""
    global _forked
    _forked = True
    _openmp.cache_clear()
    _pool.cache_clear()


_forked = False
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
