"""Memory that is kept for the next step"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_kept = False


def keep_buffers(size: int = 1 << 30) -> None:
    """Tells glibc to keep freed buffers up to `size` bytes for the next step.

    By default every large buffer is mapped anew each step, and the page faults take a quarter of the time.
    """
    global _kept
    if sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, size)
        ctypes.CDLL(None).mallopt(_TRIM_THRESHOLD, size)
        _kept = True


def give_back() -> None:
    """Returns what lies unused, if buffers are kept: those of unequal steps do not fit each other, and pile up."""
    if _kept:
        ctypes.CDLL(None).malloc_trim(0)
