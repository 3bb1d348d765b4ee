"""A pre-norm transformer over packed rows"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from .dropout import Dropout
from .event_channels import Tokens
from .packing import Packing


class TransformerLayer(nn.Module):
    """Z' = Z + Attention(LayerNorm(Z)),   out = Z' + W_2 GELU(W_1 LayerNorm(Z') + b_1) + b_2.

    Rows are packed for norms, projections and the feed-forward part, and padded round the attention alone, so that
    padding costs nothing elsewhere and counts for nothing anywhere. The scale of the widest
    dropout goes into the weights of the product that follows.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        nn.init.xavier_uniform_(self.query_key_value.weight)
        nn.init.zeros_(self.query_key_value.bias)
        self.mix = nn.Linear(width, width)
        nn.init.zeros_(self.mix.bias)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.attention = Attention()
        self.on_attention, self.on_mixed = Dropout(dropout), Dropout(dropout)
        self.on_wide, self.on_narrow = Dropout(dropout), Dropout(dropout)

    def forward(
        self, rows: Tensor, packing: Packing, key: Tensor, causal: bool = False, tokens: Tokens | None = None
    ) -> Tensor:
        """rows [rows, width], key [rows] int64; `tokens`: what the rows are made of, where it is known."""
        projected = packing.pad(self.project(rows, tokens), 3 * self.heads)
        query, keys, value = projected.unflatten(0, (3, self.heads)).unbind()
        seen = packing.filled.unsqueeze(1)
        if causal:
            seen = seen & torch.ones(keys.shape[2], keys.shape[2], dtype=torch.bool, device=rows.device).tril()
        attended = self.attend(query, keys, value, seen, packing.pad(key.unsqueeze(1), 1).flatten())
        return self.feed_forward(rows, packing.pack(attended), key)

    def project(self, rows: Tensor, tokens: Tokens | None) -> Tensor:
        """W LayerNorm(x) + b. Of x = c B it is (c / s) (B W') - (m / s) (W' 1) + W beta + b, with W' = W gamma, m and s
        the mean and deviation of x: a product as narrow as c in place of x.
        """
        norm, weight, bias = self.attention_norm, self.query_key_value.weight, self.query_key_value.bias
        if tokens is None or 4 * tokens.numbers.shape[1] > 3 * rows.shape[1]:
            return F.linear(norm(rows), weight, bias)
        variance, mean = torch.var_mean(rows, dim=1, correction=0, keepdim=True)
        inverse = torch.rsqrt(variance + norm.eps)
        scaled = weight * norm.weight
        numbers = torch.cat([tokens.numbers * inverse, -mean * inverse], dim=1)
        columns = torch.cat([scaled @ tokens.basis.T, scaled.sum(1, keepdim=True)], dim=1)
        return F.linear(numbers, columns, weight @ norm.bias + bias)

    def last(self, rows: Tensor, packing: Packing, key: Tensor, last: Tensor) -> Tensor:
        """The output of each group's last row alone: nothing else of this layer is computed for the others."""
        normed, width = self.attention_norm(rows), rows.shape[1]
        weight, bias = self.query_key_value.weight, self.query_key_value.bias
        query = F.linear(normed.index_select(0, last), weight[:width], bias[:width])
        query = query.view(len(last), self.heads, 1, -1).transpose(0, 1)
        projected = packing.pad(F.linear(normed, weight[width:], bias[width:]), 2 * self.heads)
        keys, value = projected.unflatten(0, (2, self.heads)).unbind()
        key = key.index_select(0, last)
        attended = self.attend(query, keys, value, packing.filled.unsqueeze(1), key)
        return self.feed_forward(rows.index_select(0, last), attended.squeeze(2).transpose(0, 1).flatten(1), key)

    def attend(self, query: Tensor, keys: Tensor, value: Tensor, seen: Tensor, key: Tensor) -> Tensor:
        """query [heads, groups, asked, head], key [groups * asked] to [heads, groups, asked, head]."""
        weights = self.attention(query, keys, seen)
        row = fold(torch.arange(self.heads, device=key.device).unsqueeze(1), key).flatten()
        dropped = self.on_attention(weights.flatten(0, 2), row)
        mixed: Tensor = dropped.view(weights.shape) @ value
        return mixed

    def feed_forward(self, rows: Tensor, attended: Tensor, key: Tensor) -> Tensor:
        rows = torch.add(rows, self.on_mixed.drop(self.mix(attended), key), alpha=self.on_mixed.scale)
        wide = self.on_wide.drop(F.gelu(self.wide(self.norm(rows))), key)
        narrow = F.linear(wide, self.narrow.weight * self.on_wide.scale, self.narrow.bias)
        return torch.add(rows, self.on_narrow.drop(narrow, key), alpha=self.on_narrow.scale)


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(head)), [heads, groups, asked, kept]; a module of its own so that a hook can read it."""

    def forward(self, query: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
        scores: Tensor = (query * query.shape[-1] ** -0.5) @ keys.transpose(2, 3)
        return torch.softmax(scores.masked_fill_(~seen, torch.finfo(scores.dtype).min), dim=-1)
