"""Walks mixed by attention, then averaged"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from .post_norm import PostNorm


@dataclass(frozen=True, slots=True)
class Slots:
    """Which walks each group mixes, and how often each one counts; a count of 0 is padding."""

    end: Tensor  # [groups, slots] int64, row of the walk
    count: Tensor  # [groups, slots] int64
    key: Tensor  # [groups, slots] int64, the same for the same question in any batch

    @classmethod
    def of(cls, end: Tensor, key: Tensor) -> Slots:
        """A slot a distinct walk, in the order and with the key of the first of the equal ones."""
        groups, walks = end.shape
        group = torch.arange(groups, device=end.device).unsqueeze(1)
        _, place, count = torch.unique(group * (end.max() + 1) + end, return_inverse=True, return_counts=True)
        walk = torch.arange(end.numel(), device=end.device)
        first = torch.full_like(count, end.numel()).scatter_reduce(0, place.flatten(), walk, "amin")
        first, order = first.sort()
        group = first // walks
        column = torch.arange(len(first), device=end.device) - torch.searchsorted(group, group)
        slots = [end.new_zeros(groups, int(column.max()) + 1) for _ in range(3)]
        for slot, value in zip(slots, (end.flatten()[first], count[order], key.flatten()[first]), strict=True):
            slot[group, column] = value
        return cls(*slots)


class WalkAttention(PostNorm):
    """X' = LayerNorm(X + Attention(X)),   mean over walks of LayerNorm(X' + W_2 ReLU(W_1 X' + b_1) + b_2).

    Equal walks are computed once. A walk that counts n times is n equal keys, so log n is added to its scores, and it
    enters the mean n times. A dropout mask belongs to a walk, however often it was drawn.
    """

    def forward(self, rows: Tensor, end: Tensor, key: Tensor) -> Tensor:
        """rows [rows, width], end [groups, walks] int64 and key of the same shape: [groups, width]."""
        return self.mean(rows, Slots.of(end, key))

    def mean(self, rows: Tensor, slots: Slots) -> Tensor:
        filled = slots.count.flatten().nonzero().squeeze(1)
        end, key, count = (column.flatten().index_select(0, filled) for column in (slots.end, slots.key, slots.count))
        mixed = self.mix(self._attended(rows, slots).index_select(0, filled))
        after = self.feed_forward(F.embedding(end, rows), mixed, key).to(self.mix.weight.dtype)  # sums stay whole
        summed = after.new_zeros(len(slots.end), after.shape[1])
        summed = summed.index_add(0, filled // slots.end.shape[1], after * count.unsqueeze(1))
        return summed / slots.count.sum(1, keepdim=True)

    def _attended(self, rows: Tensor, slots: Slots) -> Tensor:
        """[groups * slots, width]"""
        projected = F.embedding(slots.end, self.query_key_value(rows))
        parts = projected.unflatten(2, (3, self.heads, -1)).permute(2, 3, 0, 1, 4)
        query, keys, value = parts.contiguous().unbind()  # [heads, groups, slots, head]
        counted = slots.count.to(rows.dtype).log().unsqueeze(1)
        weights = self.weights((query * self.scale) @ keys.transpose(2, 3) + counted, slots.key.flatten())
        attended: Tensor = weights @ value
        return attended.permute(1, 2, 0, 3).reshape(-1, rows.shape[1])
