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

    def pad(self, packed: Tensor, parts: int) -> Tensor:
        """[rows, parts * width] to [parts, groups, longest, width], zero where there is no row: one copy."""
        groups, longest = self.filled.shape
        spots = self._spots(parts)
        rows = packed.reshape(len(packed) * parts, -1)
        empty = packed.new_zeros(parts * groups * longest, rows.shape[1])
        return empty.index_copy_(0, spots, rows).view(parts, groups, longest, -1)

    def pack(self, padded: Tensor) -> Tensor:
        """[parts, groups, longest, width] back to [rows, parts * width]."""
        picked = padded.flatten(0, 2).index_select(0, self._spots(len(padded)))
        return picked.view(len(self.spot), -1)

    def keys(self, key: Tensor) -> Tensor:
        """[rows] to [groups * longest], zero where there is no row."""
        return self.pad(key.unsqueeze(1), 1).flatten()

    def seen(self, causal: bool) -> Tensor:
        """What may be attended to, [groups, 1 or longest, longest]: rows, and of causal ones none that is later."""
        filled, longest = self.filled.unsqueeze(1), self.filled.shape[1]
        if not causal:
            return filled
        return filled & torch.ones(longest, longest, dtype=torch.bool, device=filled.device).tril()

    def _spots(self, parts: int) -> Tensor:
        offset = torch.arange(parts, device=self.spot.device) * self.filled.numel()
        return (self.spot.unsqueeze(1) + offset).flatten()
