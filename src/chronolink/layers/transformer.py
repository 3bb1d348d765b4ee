"""A pre-norm transformer over packed rows"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from .dropout import Dropout
from .event_channels import Tokens
from .packing import Packing
from .product import mapped, product
from .unrounded import unrounded


class TransformerParts(nn.Module):
    """What every transformer layer learns, with its dropouts: one for the attention, three for what follows it."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
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

    def weights(self, scores: Tensor, key: Tensor) -> Tensor:
        """scores [heads, groups, asked, kept] with key [groups * asked]: what dropout leaves of the attention."""
        attention = self.attention(scores)
        row = fold(torch.arange(self.heads, device=key.device).unsqueeze(1), key).flatten()
        left: Tensor = self.on_attention(attention.flatten(0, 2), row)
        return left.view(attention.shape)


class TransformerLayer(TransformerParts):
    """Z' = Z + Attention(LayerNorm(Z)),   out = Z' + W_2 GELU(W_1 LayerNorm(Z') + b_1) + b_2.

    Rows are packed for norms, projections and the feed-forward part, and padded round the attention alone, so that
    padding costs nothing elsewhere and counts for nothing anywhere. The scale of the widest
    dropout goes into the weights of the product that follows.
    """

    def forward(
        self, rows: Tensor, packing: Packing, key: Tensor, causal: bool = False, tokens: Tokens | None = None
    ) -> Tensor:
        """rows [rows, width], key [rows] int64; `tokens`: what the rows are made of, where it is known."""
        if tokens is not None and self.folds(tokens.numbers.shape[1]):
            return self.feed_forward(rows, self.mixed_tokens(tokens, packing, key, causal), key)
        projected = packing.pad(mapped(self.query_key_value, self.given(rows)), 3 * self.heads)
        query, keys, value = projected.unflatten(0, (3, self.heads)).unbind()
        attended = self.shares(query, keys, packing, key, causal) @ value
        return self.feed_forward(rows, mapped(self.mix, packing.pack(attended)), key)

    def shares(self, query: Tensor, keys: Tensor, packing: Packing, key: Tensor, causal: bool) -> Tensor:
        """What each row takes of each in its group, [heads, groups, longest, longest]."""
        return self.weights(scores(query, keys, _hidden(packing.seen(causal), query), self.scale), packing.keys(key))

    def given(self, rows: Tensor) -> Tensor:
        """What is projected."""
        return self.attention_norm(rows)  # type: ignore[no-any-return]

    def folds(self, few: int) -> bool:
        """Whether attention among so few numbers a row is less work than among projected rows."""
        width = self.mix.in_features
        return self.heads * few * (few + width) < 3 * width * width

    def mixed_tokens(self, tokens: Tokens, packing: Packing, key: Tensor, causal: bool) -> Tensor:
        """What attention adds to rows that are few numbers u times a basis L, [rows, width].

        No row is projected: q_i . k_j is u_i (G_Q G_K^T) u_j with G = L W^T, the bias added where u is 1, and the
        values W_O sum_j a_j v_j are (sum_j a_j u_j) (G_V W_O^T).
        """
        heads, (numbers, basis) = (self.heads, -1), self.factors(tokens)
        maps = F.linear(basis, self.query_key_value.weight)
        maps = torch.cat([maps[:-1], maps[-1:] + self.query_key_value.bias])  # the last number is 1
        for_query, for_keys, for_value = (part.unflatten(1, heads).transpose(0, 1) for part in maps.chunk(3, dim=1))
        asked = unrounded(product)(numbers, (for_query @ for_keys.transpose(1, 2)).transpose(1, 2).flatten(0, 1))
        laid = packing.pad(torch.cat([asked, numbers.repeat(1, self.heads)], dim=1), 2 * self.heads)
        query, kept = laid.unflatten(0, (2, self.heads)).unbind()
        shares = self.shares(query, kept, packing, key, causal)
        attended = packing.pack(unrounded(torch.matmul)(shares, kept))
        out = for_value @ self.mix.weight.unflatten(1, heads).permute(1, 2, 0)  # [heads, few, width]
        return unrounded(product)(attended, out.flatten(0, 1).T, self.mix.bias)

    def factors(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """u and L, whose product is the LayerNorm of x = c B: u = [c / s, 1] and L = [gamma C, beta], with C the rows
        of B less their means and s the deviation of x, the length of c C.
        """
        norm, centred = self.attention_norm, tokens.basis - tokens.basis.mean(1, keepdim=True)
        variance = unrounded(torch.mm)(tokens.numbers, centred).square().mean(1, keepdim=True)
        numbers = tokens.numbers * torch.rsqrt(variance + norm.eps)
        return F.pad(numbers, (0, 1), value=1.0), torch.cat([centred * norm.weight, norm.bias.unsqueeze(0)])

    def last(self, rows: Tensor, packing: Packing, key: Tensor, last: Tensor) -> Tensor:
        """The output of each group's last row alone."""
        normed, key = self.attention_norm(rows), key.index_select(0, last)
        padded = packing.pad(normed, 1).squeeze(0)
        attended = self.gather(normed.index_select(0, last), padded, packing.filled, key)
        return self.feed_forward(rows.index_select(0, last), self.mix(attended), key)

    def gather(self, rows: Tensor, asked: Tensor, filled: Tensor, key: Tensor) -> Tensor:
        """What one row a group, rows [groups, width], attends to in asked [groups, longest, width].

        With one query a group no asked row is projected: q . (W_K x_j + b_K) is (W_K^T q) . x_j and what the softmax
        does not see, and sum_j a_j (W_V x_j + b_V) is W_V (sum_j a_j x_j) + (sum_j a_j) b_V.
        """
        heads = (self.heads, -1)
        for_query, for_keys, for_value = self.query_key_value.weight.chunk(3)
        query_bias, _, value_bias = self.query_key_value.bias.chunk(3)
        query = F.linear(rows, for_query, query_bias).unflatten(1, heads)
        back = torch.einsum("ghd,hdw->ghw", query, for_keys.unflatten(0, heads))
        hidden = _hidden(filled.unsqueeze(1), back)
        shown = scores(back.unsqueeze(0), asked.unsqueeze(0), hidden, self.scale).permute(2, 1, 0, 3)
        weights = self.weights(shown, key).squeeze(2).transpose(0, 1)  # [groups, heads, longest]
        attended = torch.einsum("ghw,hdw->ghd", weights @ asked, for_value.unflatten(0, heads))
        attended = attended + weights.sum(-1, keepdim=True) * value_bias.unflatten(0, heads)
        return attended.flatten(1)  # type: ignore[no-any-return]

    def feed_forward(self, rows: Tensor, mixed: Tensor, key: Tensor) -> Tensor:
        rows = torch.add(rows, self.on_mixed.drop(mixed, key), alpha=self.on_mixed.scale)
        wide = self.on_wide.after_gelu(self.wide, self.norm(rows), key)
        narrow = product(wide, self.narrow.weight * self.on_wide.scale, self.narrow.bias)
        return torch.add(rows, self.on_narrow.drop(narrow, key), alpha=self.on_narrow.scale)


@dataclass(frozen=True, slots=True)
class Rows:
    """What the first layer is given, and which rows attend to each other; rows of no event come first."""

    tokens: Tokens
    packing: Packing
    key: Tensor  # [rows] int64
    causal: bool = False  # no row sees a later one

    def through(self, layers: Iterable[nn.Module]) -> Tensor:
        """Every row after these layers, [rows, inner]."""
        rows = self.tokens.rows()
        for number, layer in enumerate(layers):
            rows = layer(rows, self.packing, self.key, causal=self.causal, tokens=None if number else self.tokens)
        return rows


class Attention(nn.Module):
    """Softmax over [heads, groups, asked, kept]; a module of its own so that a hook can read what it gives."""

    def forward(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)


def scores(query: Tensor, keys: Tensor, added: Tensor, scale: float) -> Tensor:
    """Q K^T * scale + added: query [heads, groups, asked, any], keys [heads, groups, kept, any], added [groups, 1 or
    asked, kept].
    """
    summed = added.expand(*query.shape[:3], keys.shape[2]).clone(memory_format=torch.contiguous_format)
    keys = keys.to(query.dtype)  # in half precision one of the two may still be whole
    summed.flatten(0, 1).baddbmm_(query.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2), alpha=scale)
    return summed


def _hidden(seen: Tensor, query: Tensor) -> Tensor:
    """The lowest number where a key is not seen, in the type of the query."""
    return torch.zeros_like(seen, dtype=query.dtype).masked_fill_(~seen, torch.finfo(query.dtype).min)
