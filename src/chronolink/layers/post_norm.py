"""A post-norm transformer that can ask elsewhere"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .event_channels import Tokens
from .packing import Packing
from .product import product
from .transformer import TransformerLayer, TransformerParts


class PostNorm(TransformerParts):
    """out = LayerNorm(Z' + W_2 ReLU(W_1 Z' + b_1) + b_2) with Z' = LayerNorm(Z + mixed)."""

    def feed_forward(self, rows: Tensor, mixed: Tensor, key: Tensor) -> Tensor:
        rows = torch.add(rows, self.on_mixed.drop(mixed, key), alpha=self.on_mixed.scale)
        rows = self.attention_norm(rows)
        wide = self.on_wide.after_relu(self.wide, rows, key)
        narrow = product(wide, self.narrow.weight * self.on_wide.scale, self.narrow.bias)
        return self.norm(torch.add(rows, self.on_narrow.drop(narrow, key), alpha=self.on_narrow.scale))  # type: ignore[no-any-return]


class PostNormLayer(PostNorm, TransformerLayer):
    """Z' = LayerNorm(Z + Attention(Z, O)),   out = LayerNorm(Z' + W_2 ReLU(W_1 Z' + b_1) + b_2).

    Z asks and O is asked: rows of one group (`forward`), or one row of another group (`ask`), with the same weights.
    Vaswani et al. (2017).
    """

    def given(self, rows: Tensor) -> Tensor:
        return rows

    def factors(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        return F.pad(tokens.numbers, (0, 1), value=1.0), F.pad(tokens.basis, (0, 0, 0, 1))

    def last(self, rows: Tensor, packing: Packing, key: Tensor, last: Tensor) -> Tensor:
        padded, chosen = packing.pad(rows, 1).squeeze(0), rows.index_select(0, last)
        return self.ask(chosen, padded, packing.filled, key.index_select(0, last))

    def ask(self, rows: Tensor, asked: Tensor, filled: Tensor, key: Tensor) -> Tensor:
        """rows [groups, width], each of a group of its own asked [groups, longest, width], filled [groups, longest]."""
        return self.feed_forward(rows, self.mix(self.gather(rows, asked, filled, key)), key)
