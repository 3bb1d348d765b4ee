"""Walks mixed by attention, then averaged"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from .packing import Packing
from .post_norm import PostNorm
from .product import mapped
from .transformer import scores

BINS = 4  # groups of like size are laid side by side


@dataclass(frozen=True, slots=True)
class Slots:
    """The distinct walks of each group, those of small groups first."""

    walk: Tensor  # [slots] int64, row of the walk
    count: Tensor  # [slots] int64, how often it counts
    key: Tensor  # [slots] int64, the same for the same question in any batch
    group: Tensor  # [slots] int64
    packings: tuple[Packing, ...]  # of the slots in their order, groups of like size in one

    @classmethod
    def of(cls, end: Tensor, key: Tensor) -> Slots:
        """`end` and `key` [groups, walks]: equal walks of a group are one, with the key of the first of them."""
        groups, walks = end.shape
        place = torch.arange(groups, device=end.device).unsqueeze(1) * (end.max() + 1) + end
        _, place, count = torch.unique(place, return_inverse=True, return_counts=True)
        walk = torch.arange(end.numel(), device=end.device)
        first = torch.full_like(count, end.numel()).scatter_reduce(0, place.flatten(), walk, "amin")
        group = first // walks
        size = torch.bincount(group, minlength=groups)
        rank = torch.empty_like(size).scatter_(0, size.argsort(stable=True), torch.arange(groups, device=end.device))
        order = (rank[group] * end.numel() + first).argsort()
        first, count, group = first[order], count[order], group[order]
        packings = tuple(_packings(rank[group], groups))
        return cls(end.flatten()[first], count, key.flatten()[first], group, packings)


def _packings(rank: Tensor, groups: int) -> Iterator[Packing]:
    """`rank` [slots]: that of each slot's group, never falling."""
    column = torch.arange(len(rank), device=rank.device) - torch.searchsorted(rank, rank)
    bins = min(BINS, groups)
    cuts = [groups * number // bins for number in range(bins + 1)]
    slots = torch.searchsorted(rank, torch.tensor(cuts, device=rank.device)).tolist()
    for (low, high), (start, end) in zip(pairwise(cuts), pairwise(slots), strict=True):
        yield Packing.of(rank[start:end] - low, column[start:end], high - low)


class WalkAttention(PostNorm):
    """X' = LayerNorm(X + Attention(X)),   mean over walks of LayerNorm(X' + W_2 ReLU(W_1 X' + b_1) + b_2).

    Equal walks are computed once. A walk that counts n times is n equal keys, so log n is added to its scores, and it
    enters the mean n times. A dropout mask belongs to a walk, however often it was drawn.
    """

    def forward(self, rows: Tensor, end: Tensor, key: Tensor) -> Tensor:
        """rows [rows, width], end [groups, walks] int64 and key of the same shape: [groups, width]."""
        slots, (groups, walks) = Slots.of(end, key), end.shape
        rows = F.embedding(slots.walk, rows)
        after = self.feed_forward(rows, mapped(self.mix, self._attended(rows, slots)), slots.key)
        after = after.to(self.mix.weight.dtype)  # sums stay whole
        summed = after.new_zeros(groups, after.shape[1])
        share = slots.count.unsqueeze(1).to(after.dtype) / walks
        return summed.index_add(0, slots.group, after * share)

    def _attended(self, rows: Tensor, slots: Slots) -> Tensor:
        """[slots, width]"""
        projected = mapped(self.query_key_value, rows)
        sizes = [len(packing.spot) for packing in slots.packings]
        columns = (column.split(sizes) for column in (projected, slots.count, slots.key))
        return torch.cat([self._among(*part) for part in zip(slots.packings, *columns, strict=True)])

    def _among(self, packing: Packing, projected: Tensor, count: Tensor, key: Tensor) -> Tensor:
        query, keys, value = packing.pad(projected, 3 * self.heads).unflatten(0, (3, self.heads)).unbind()
        counted = packing.pad(count.unsqueeze(1), 1).view(len(query[0]), 1, -1).to(query.dtype).log()  # -inf: no walk
        weights = self.weights(scores(query, keys, counted, self.scale), packing.keys(key))
        return packing.pack(weights @ value)
