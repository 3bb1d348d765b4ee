"""Transformer layers of many models, stacked"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..draws import fold, lanes
from .dropout import LEVELS

SITES = 4  # dropouts of a TransformerLayer, in the order in which it makes them
Weights = Mapping[str, Tensor]  # by name, [models, ...] each
Masks = tuple[Tensor, Tensor, Tensor, Tensor] | None  # on attention, mixed, wide and narrow; None: nothing is dropped


@dataclass(frozen=True, slots=True)
class Dropouts:
    """What some training steps of many models drop: for each model what its own `Dropout`s would."""

    seed: Tensor  # [models, sequences, dropouts] int64, as `reseed` gives them for the step of the sequence
    key: Tensor  # [models, sequences, rows] int64
    dropped: int  # of LEVELS

    def last(self) -> Dropouts:
        """For the last row of each sequence alone."""
        return Dropouts(self.seed, self.key[:, :, -1:], self.dropped)

    def masks(self, layer: int, width: int, rows: int, size: int) -> list[Masks]:
        """Of one layer with one head, by batches of `size` sequences.

        Each [models, sequences, rows, entries], 0 or the scale of what is kept.
        """
        if not self.dropped:
            return [None] * -(-self.key.shape[1] // size)
        seed = self.seed[:, :, SITES * layer : SITES * (layer + 1)].unsqueeze(2).unbind(3)
        keys = (fold(0, self.key), self.key, self.key, self.key)  # attention's also tells heads apart
        widths = (rows, width, 4 * width, width)
        drawn = zip(seed, keys, widths, strict=True)
        masks = [self._mask(fold(one, key), entries).split(size, dim=1) for one, key, entries in drawn]
        return list(zip(*masks, strict=True))

    def _mask(self, key: Tensor, entries: int) -> Tensor:
        drawn = lanes(key.flatten(), entries)
        kept = torch.empty(drawn.shape, dtype=torch.get_default_dtype(), device=key.device)
        torch.ge(drawn, self.dropped - LEVELS // 2, out=kept)
        return kept.mul_(LEVELS / (LEVELS - self.dropped)).view(*key.shape, entries)


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x [models, ..., in], weight [models, out, in], bias [models, out]: each model's own W x + b."""
    flat = torch.baddbmm(bias.unsqueeze(1), x.flatten(1, -2), weight.transpose(1, 2))
    return flat.view(*x.shape[:-1], -1)


def normed(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """LayerNorm over the last axis of x [models, sequences, rows, width]."""
    plain = F.layer_norm(x, x.shape[-1:])
    return torch.addcmul(bias[:, None, None], plain, weight[:, None, None])


def transform(weights: Weights, rows: Tensor, hidden: Tensor | None, masks: Masks) -> Tensor:
    """`TransformerLayer` with one head, [models, sequences, rows, width]; `hidden` [rows, rows] is added to scores."""
    x = normed(rows, weights["attention_norm.weight"], weights["attention_norm.bias"])
    projected = linear(x, weights["query_key_value.weight"], weights["query_key_value.bias"])
    query, keys, value = projected.chunk(3, dim=-1)
    attended = attend(query, keys, value, hidden, masks)
    return feed_forward(weights, rows, attended, masks)


def transform_last(weights: Weights, rows: Tensor, masks: Masks) -> Tensor:
    """What `transform` gives for the last row, [models, sequences, 1, width]: one query a sequence.

    Keys and values are not projected, as in `TransformerLayer.last`.
    """
    x = normed(rows, weights["attention_norm.weight"], weights["attention_norm.bias"])
    for_query, for_keys, for_value = weights["query_key_value.weight"].chunk(3, dim=1)
    query_bias, _, value_bias = weights["query_key_value.bias"].chunk(3, dim=1)
    query = linear(x[:, :, -1], for_query, query_bias) @ for_keys  # [models, sequences, width]
    shares = torch.softmax((x @ query.unsqueeze(3)).squeeze(3) * rows.shape[3] ** -0.5, dim=2)
    if masks is not None:
        shares = shares * masks[0].squeeze(2)
    summed = (shares.unsqueeze(2) @ x).squeeze(2)
    attended = summed @ for_value.transpose(1, 2) + shares.sum(2, keepdim=True) * value_bias.unsqueeze(1)
    return feed_forward(weights, rows[:, :, -1:], attended.unsqueeze(2), masks)


def attend(query: Tensor, keys: Tensor, value: Tensor, hidden: Tensor | None, masks: Masks) -> Tensor:
    scores = (query * query.shape[3] ** -0.5) @ keys.transpose(2, 3)
    shares = torch.softmax(scores if hidden is None else scores + hidden, dim=3)
    return (shares if masks is None else shares * masks[0]) @ value


def feed_forward(weights: Weights, rows: Tensor, attended: Tensor, masks: Masks) -> Tensor:
    mixed = linear(attended, weights["mix.weight"], weights["mix.bias"])
    rows = rows + mixed if masks is None else torch.addcmul(rows, mixed, masks[1])
    x = normed(rows, weights["norm.weight"], weights["norm.bias"])
    wide = F.gelu(linear(x, weights["wide.weight"], weights["wide.bias"]))
    narrow = linear(wide if masks is None else wide * masks[2], weights["narrow.weight"], weights["narrow.bias"])
    return rows + narrow if masks is None else torch.addcmul(rows, narrow, masks[3])
