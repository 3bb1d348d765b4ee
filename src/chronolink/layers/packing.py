"""Rows packed for products, padded for attention"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each packed row stands when rows that attend to each other are laid side by side."""

    spot: Tensor  # [rows] int64, group * longest + column
    filled: Tensor  # [groups, longest] bool

    @classmethod
    def of(cls, group: Tensor, column: Tensor, groups: int) -> Packing:
        longest = int(column.max()) + 1
        spot = group * longest + column
        filled = torch.zeros(groups * longest, dtype=torch.bool, device=group.device)
        filled[spot] = True
        return cls(spot, filled.view(groups, longest))

    def pad(self, packed: Tensor) -> Tensor:
        """[rows, width] to [groups, longest, width], zero where there is no row."""
        groups, longest = self.filled.shape
        empty = packed.new_zeros(groups * longest, *packed.shape[1:])
        return empty.index_copy(0, self.spot, packed).view(groups, longest, *packed.shape[1:])

    def pack(self, padded: Tensor) -> Tensor:
        return padded.flatten(0, 1).index_select(0, self.spot)
