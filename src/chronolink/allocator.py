"""Memory that is kept, not given back"""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt


def keep_buffers(size: int = 1 << 30) -> None:
    """Tells glibc to keep freed buffers up to `size` bytes for the next step.

    By default every large buffer is mapped anew each step, and the page faults take a quarter of the time.
    """
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, size)
        library.mallopt(_TRIM_THRESHOLD, size)
