"""Memory that is kept for the next step"""

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_PLANS = 64  # about as many as one step makes
_PLAN_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # of oneDNN, and of torch's layer on it
_kept = False


def keep_buffers(size: int = 1 << 30) -> None:
    """Tells glibc to keep freed buffers up to `size` bytes for the next step.

    By default every large buffer is mapped anew each step, and the page faults take a quarter of the time. oneDNN,
    which multiplies in half precision and for `layers.product`, keeps a plan for each of the last thousand shapes: two
    batches of unequal histories hardly ever have the same, and plans that lie between the buffers leave gaps that fit
    none. It is told to keep those of one step, unless the environment says otherwise.
    """
    global _kept
    for variable in _PLAN_CACHES:
        os.environ.setdefault(variable, str(_PLANS))
    if sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, size)
        ctypes.CDLL(None).mallopt(_TRIM_THRESHOLD, size)
        _kept = True


def give_back() -> None:
    """Returns what lies unused, if buffers are kept: those of unequal steps do not fit each other, and pile up."""
    if _kept:
        ctypes.CDLL(None).malloc_trim(0)
