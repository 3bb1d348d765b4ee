"""A post-norm transformer that can ask elsewhere"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .event_channels import Tokens
from .packing import Packing
from .transformer import TransformerLayer


class PostNormLayer(TransformerLayer):
    """Z' = LayerNorm(Z + Attention(Z, O)),   out = LayerNorm(Z' + W_2 ReLU(W_1 Z' + b_1) + b_2).

    Z asks and O is asked: rows of one group (`forward`), or one row of another group (`ask`), with the same weights.
    Vaswani et al. (2017).
    """

    def project(self, rows: Tensor, tokens: Tokens | None) -> Tensor:
        """W x + b; of x = c B it is c (B W^T) + b, a product as narrow as c."""
        weight, bias = self.query_key_value.weight, self.query_key_value.bias
        if tokens is None or 4 * tokens.numbers.shape[1] > 3 * rows.shape[1]:
            return F.linear(rows, weight, bias)
        return F.linear(tokens.numbers, weight @ tokens.basis.T, bias)

    def last(self, rows: Tensor, packing: Packing, key: Tensor, last: Tensor) -> Tensor:
        padded, chosen = packing.pad(rows, 1).squeeze(0), rows.index_select(0, last)
        return self.ask(chosen, padded, packing.filled, key.index_select(0, last))

    def ask(self, rows: Tensor, asked: Tensor, filled: Tensor, key: Tensor) -> Tensor:
        """rows [groups, width], each of a group of its own asked [groups, longest, width], filled [groups, longest].

        No asked row is projected: q . (W_K x_j + b_K) is (W_K^T q) . x_j and what the softmax does not see, and
        sum_j a_j (W_V x_j + b_V) is W_V (sum_j a_j x_j) + (sum_j a_j) b_V.
        """
        heads = (self.heads, -1)
        for_query, for_keys, for_value = self.query_key_value.weight.chunk(3)
        query_bias, _, value_bias = self.query_key_value.bias.chunk(3)
        query = F.linear(rows, for_query, query_bias).unflatten(1, heads)
        back = torch.einsum("ghd,hdw->ghw", query, for_keys.unflatten(0, heads))
        scores = back @ asked.transpose(1, 2) * self.scale
        scores = scores.masked_fill(~filled.unsqueeze(1), torch.finfo(scores.dtype).min)
        weights = self.weights(scores.transpose(0, 1).unsqueeze(2), key).squeeze(2).transpose(0, 1)
        attended = torch.einsum("ghw,hdw->ghd", weights @ asked, for_value.unflatten(0, heads))
        attended = attended + weights.sum(-1, keepdim=True) * value_bias.unflatten(0, heads)
        return self.feed_forward(rows, attended.flatten(1), key)

    def feed_forward(self, rows: Tensor, attended: Tensor, key: Tensor) -> Tensor:
        mixed = self.on_mixed.drop(self.mix(attended), key)
        rows = self.attention_norm(torch.add(rows, mixed, alpha=self.on_mixed.scale))
        wide = self.on_wide.drop(self.wide(rows), key).relu_()  # what is dropped is 0 before ReLU as after it
        narrow = F.linear(wide, self.narrow.weight * self.on_wide.scale, self.narrow.bias)
        narrow = self.on_narrow.drop(narrow, key)
        return self.norm(torch.add(rows, narrow, alpha=self.on_narrow.scale))  # type: ignore[no-any-return]
