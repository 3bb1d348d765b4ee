"""A pre-norm transformer over packed rows"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from .dropout import Dropout
from .packing import Packing


class TransformerLayer(nn.Module):
    """Z' = Z + Attention(LayerNorm(Z)),   out = Z' + W_2 GELU(W_1 LayerNorm(Z') + b_1) + b_2.

    Rows are packed for norms, projections and the feed-forward part, and padded round the attention alone, so that
    padding costs nothing elsewhere and counts for nothing anywhere.
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
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(4))

    def forward(self, rows: Tensor, packing: Packing, key: Tensor, causal: bool = False) -> Tensor:
        """rows [rows, width], key [rows] int64."""
        projected = packing.pad(self.query_key_value(self.attention_norm(rows)))
        query, keys, value = (self._heads(part) for part in projected.chunk(3, dim=-1))
        seen = packing.filled[:, None, None, :]
        if causal:
            seen = seen & torch.ones(keys.shape[2], keys.shape[2], dtype=torch.bool, device=rows.device).tril()
        attended = self.attend(query, keys, value, seen, packing.pad(key.unsqueeze(1)).squeeze(2))
        return self.feed_forward(rows, packing.pack(attended), key)

    def last(self, rows: Tensor, packing: Packing, key: Tensor, last: Tensor) -> Tensor:
        """The output of each group's last row alone: nothing else of this layer is computed for the others."""
        normed = self.attention_norm(rows)
        width = rows.shape[1]
        weight, bias = self.query_key_value.weight, self.query_key_value.bias
        query = F.linear(normed.index_select(0, last), weight[:width], bias[:width]).unsqueeze(1)
        keys, value = packing.pad(F.linear(normed, weight[width:], bias[width:])).chunk(2, dim=-1)
        seen = packing.filled[:, None, None, :]
        key = key.index_select(0, last)
        query, keys, value = (self._heads(part) for part in (query, keys, value))
        attended = self.attend(query, keys, value, seen, key.unsqueeze(1))
        return self.feed_forward(rows.index_select(0, last), attended.squeeze(1), key)

    def attend(self, query: Tensor, keys: Tensor, value: Tensor, seen: Tensor, key: Tensor) -> Tensor:
        """query [groups, heads, asked, head], key [groups, asked] to [groups, asked, width]."""
        weights = self.attention(query, keys, seen)
        heads = torch.arange(self.heads, device=key.device)[:, None]
        dropped = self.dropouts[0](weights.flatten(0, 2), fold(key.unsqueeze(1), heads).flatten())
        mixed: Tensor = dropped.view(weights.shape) @ value
        return mixed.transpose(1, 2).flatten(2)

    def feed_forward(self, rows: Tensor, attended: Tensor, key: Tensor) -> Tensor:
        rows = rows + self.dropouts[1](self.mix(attended), key)
        wide = self.dropouts[2](F.gelu(self.wide(self.norm(rows))), key)
        return rows + self.dropouts[3](self.narrow(wide), key)  # type: ignore[no-any-return]

    def _heads(self, padded: Tensor) -> Tensor:
        parts: Tensor = padded.unflatten(2, (self.heads, -1))
        return parts.transpose(1, 2)


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(head)), [groups, heads, asked, kept]; a module of its own so that a hook can read it."""

    def forward(self, query: Tensor, keys: Tensor, seen: Tensor) -> Tensor:
        scores: Tensor = (query * query.shape[-1] ** -0.5) @ keys.transpose(2, 3)
        return torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), dim=-1)
