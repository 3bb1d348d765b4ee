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
    def walks(cls, end: Tensor, key: Tensor) -> Slots:
        """A slot a walk."""
        return cls(end, torch.ones_like(end), key)

    @classmethod
    def distinct(cls, end: Tensor, key: Tensor) -> Slots:
        """A slot a distinct walk."""
        groups, size = len(end), int(end.max()) + 1
        group = torch.arange(groups, device=end.device).unsqueeze(1)
        found, count = torch.unique(group * size + end, return_counts=True)
        group = found // size
        column = torch.arange(len(found), device=end.device) - torch.searchsorted(group, group)
        shape = (groups, int(column.max()) + 1)
        ends, counts = end.new_zeros(shape), end.new_zeros(shape)
        ends[group, column], counts[group, column] = found % size, count
        return cls(ends, counts, key[:, : shape[1]])


class WalkAttention(PostNorm):
    """X' = LayerNorm(X + Attention(X)),   mean over walks of LayerNorm(X' + W_2 ReLU(W_1 X' + b_1) + b_2).

    Equal walks share all that no dropout has touched: their keys, queries and values, and in evaluation everything. A
    walk that counts n times is n equal keys, so log n is added to its scores, and it enters the mean n times.
    """

    def forward(self, rows: Tensor, end: Tensor, key: Tensor) -> Tensor:
        """rows [rows, width], end [groups, walks] int64 and key of the same shape: [groups, width]."""
        dropped = self.training and self.on_wide.dropped
        return self.mean(rows, Slots.walks(end, key) if dropped else Slots.distinct(end, key))

    def mean(self, rows: Tensor, slots: Slots) -> Tensor:
        filled = slots.count.flatten().nonzero().squeeze(1)
        end, key, count = (column.flatten().index_select(0, filled) for column in (slots.end, slots.key, slots.count))
        mixed = self.mix(self._attended(rows, slots).index_select(0, filled))
        after = self.feed_forward(F.embedding(end, rows), mixed, key) * count.unsqueeze(1)
        summed = rows.new_zeros(len(slots.end), rows.shape[1]).index_add(0, filled // slots.end.shape[1], after)
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
