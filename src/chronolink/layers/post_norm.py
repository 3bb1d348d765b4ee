"""A post-norm transformer that can ask elsewhere"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .event_channels import Tokens
from .packing import Packing
from .transformer import TransformerLayer, TransformerParts
from .unrounded import unrounded


class PostNorm(TransformerParts):
    """out = LayerNorm(Z' + W_2 ReLU(W_1 Z' + b_1) + b_2) with Z' = LayerNorm(Z + mixed)."""

    def feed_forward(self, rows: Tensor, mixed: Tensor, key: Tensor) -> Tensor:
        rows = torch.add(rows, self.on_mixed.drop(mixed, key), alpha=self.on_mixed.scale)
        rows = self.attention_norm(rows)
        wide = self.wide(rows)
        with torch.no_grad():  # what is dropped is 0 before ReLU, which passes no gradient there
            self.on_wide.drop(wide, key)
        wide = wide.relu_()
        narrow = F.linear(wide, self.narrow.weight * self.on_wide.scale, self.narrow.bias)
        return self.norm(torch.add(rows, self.on_narrow.drop(narrow, key), alpha=self.on_narrow.scale))  # type: ignore[no-any-return]


class PostNormLayer(PostNorm, TransformerLayer):
    """Z' = LayerNorm(Z + Attention(Z, O)),   out = LayerNorm(Z' + W_2 ReLU(W_1 Z' + b_1) + b_2).

    Z asks and O is asked: rows of one group (`forward`), or one row of another group (`ask`), with the same weights.
    Vaswani et al. (2017).
    """

    def project(self, rows: Tensor, tokens: Tokens | None) -> Tensor:
        """W x + b; of x = c B it is c (B W^T) + b, a product as narrow as c."""
        weight, bias = self.query_key_value.weight, self.query_key_value.bias
        if tokens is None or not tokens.narrow:
            return F.linear(rows, weight, bias)
        return unrounded(F.linear)(tokens.numbers, weight @ tokens.basis.T, bias)

    def last(self, rows: Tensor, packing: Packing, key: Tensor, last: Tensor) -> Tensor:
        padded, chosen = packing.pad(rows, 1).squeeze(0), rows.index_select(0, last)
        return self.ask(chosen, padded, packing.filled, key.index_select(0, last))

    def ask(self, rows: Tensor, asked: Tensor, filled: Tensor, key: Tensor) -> Tensor:
        """rows [groups, width], each of a group of its own asked [groups, longest, width], filled [groups, longest]."""
        return self.feed_forward(rows, self.mix(self.gather(rows, asked, filled, key)), key)
