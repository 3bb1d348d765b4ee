"""Random draws as functions of counters"""

from __future__ import annotations

import torch
from torch import Tensor

GOLDEN = -0x61C8864680B583EB  # the odd number nearest to 2**64 / golden ratio, as a signed integer
FIRST = -0x40A7B892E31B1A47
SECOND = -0x6B2FB644ECCEEE15


def scramble(counter: Tensor) -> Tensor:
    """The finaliser of splitmix64 (Steele et al. 2014): a bijection of int64 with well mixed bits."""
    mixed = (counter ^ ((counter >> 30) & 0x3FFFFFFFF)) * FIRST
    mixed = (mixed ^ ((mixed >> 27) & 0x1FFFFFFFFF)) * SECOND
    return mixed ^ ((mixed >> 31) & 0x1FFFFFFFF)


def fold(*counters: int | Tensor) -> Tensor:
    """One well mixed int64 from several counters, broadcast: the same counters, the same number, in any batch."""
    mixed = torch.zeros((), dtype=torch.int64)
    for counter in counters:
        if isinstance(counter, Tensor):
            mixed = mixed.to(counter.device)
        mixed = scramble((mixed ^ counter) * GOLDEN + GOLDEN)
    return mixed


def fraction(mixed: Tensor) -> Tensor:
    """Uniform in (0, 1), float64, from the upper 52 bits."""
    return (((mixed >> 12) & 0xFFFFFFFFFFFFF).to(torch.float64) + 0.5) * 2.0**-52
