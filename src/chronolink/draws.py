"""Random draws as functions of counters"""

from __future__ import annotations

import torch
from torch import Tensor

GOLDEN = -0x61C8864680B583EB  # the odd number nearest to 2**64 / golden ratio, as a signed integer
FIRST = -0x40A7B892E31B1A47
SECOND = -0x6B2FB644ECCEEE15
PIECE = 1024  # rows


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


def lanes(key: Tensor, count: int) -> Tensor:
    """[rows, count] int16, four from each scrambled (key, column): uniform, and a row's own whatever the other rows.

    In pieces that stay in the cache and in place, which is several times faster than `scramble` over the whole.
    """
    columns = torch.arange(-(-count // 4), device=key.device) * GOLDEN
    drawn = torch.empty(len(key), len(columns), dtype=torch.int64, device=key.device)
    spare = torch.empty_like(drawn[:PIECE])
    for start in range(0, len(key), PIECE):
        piece = torch.add(key[start : start + PIECE, None], columns, out=drawn[start : start + PIECE])
        for shift, factor in ((32, FIRST), (29, SECOND), (32, 1)):
            shifted = torch.bitwise_right_shift(piece, shift, out=spare[: len(piece)])
            shifted &= (1 << (64 - shift)) - 1  # the shift repeats the sign
            piece ^= shifted
            if factor != 1:
                piece *= factor
    return drawn.view(torch.int16)[:, :count]
