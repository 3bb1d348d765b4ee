"""A piece of work in its process"""

from __future__ import annotations

import os

import torch

from ..allocator import keep_buffers
from ..executor import Outcome, Work, attempt


def work_alone(piece: Work, threads: int) -> Outcome:
    """What a process of its own does: its share of the threads, buffers that are kept, the piece."""
    torch.set_num_threads(threads)
    keep_buffers()
    return attempt(piece)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
