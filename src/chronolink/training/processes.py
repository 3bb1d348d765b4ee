"""Devices, processes and precision"""

from __future__ import annotations

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from ..errors import ChronolinkError


def accelerator_for(device: str = "auto", precision: str = "no") -> Accelerator:
    """Accelerate's view of this process: alone, or one of several that torchrun started."""
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise ChronolinkError("device is cuda, but torch finds no GPU here; use auto or cpu")
    AcceleratorState._reset_state()  # an earlier run in this process may have had another precision
    return Accelerator(cpu=device == "cpu" or not available, mixed_precision=precision)
