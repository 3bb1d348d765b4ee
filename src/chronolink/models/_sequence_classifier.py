"""A transformer that classifies event sequences"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..errors import ChronolinkError, at_least_one
from ..layers.packing import Packing
from ..layers.side_by_side import Dropouts, Masks, Weights, linear, transform, transform_last
from ..layers.transformer import TransformerLayer
from ..sequence_model import SequenceModel, row_keys, with_asked
from ..time_encoder import TimeEncoder
from ..time_encoders.cosine import Cosine
from ..time_encoders.linear import Linear
from ..time_encoders.sine_cosine import SineCosine


class SequenceClassifier(SequenceModel):
    """Rows [phi(t - t_m), x_m] and a last row [phi(0), 0], the layers of DyGFormer with one head, a linear head.

    The classifier of the synthetic task in "Between Linear and Sinusoidal". A variant says how rows attend and which of
    them become the sequence's representation: `represent`, and `represent_side_by_side` for stacked parameters.

    Args:
        layers: transformer layers, as wide as the encoder and one more.
        dropout: share of entries that a training step leaves out.
    """

    def __init__(self, time_encoder: TimeEncoder, layers: int = 1, dropout: float = 0.1) -> None:
        super().__init__()
        at_least_one(layers=layers)
        self.time_encoder, self.width = time_encoder, time_encoder.width + 1
        self.layers = nn.ModuleList(TransformerLayer(self.width, 1, dropout) for _ in range(layers))
        self.head = nn.Linear(self.width, 1)

    def forward(self, elapsed: Tensor, feature: Tensor, key: Tensor) -> Tensor:
        encoded = self.time_encoder(with_asked(elapsed))
        rows = torch.cat([encoded, with_asked(feature).to(encoded.dtype).unsqueeze(2)], dim=2)
        sequences, length = rows.shape[:2]
        place = torch.arange(sequences * length, device=rows.device)
        packing = Packing.of(place // length, place % length, sequences)
        found = self.represent(rows.flatten(0, 1), packing, row_keys(key, length).flatten())
        return self.head(found).squeeze(1)  # type: ignore[no-any-return]

    @abstractmethod
    def represent(self, rows: Tensor, packing: Packing, key: Tensor) -> Tensor:
        """rows [sequences * length, width], key [sequences * length]: one row a sequence, [sequences, width]."""

    def side_by_side(self, weights: Weights, number: Tensor, feature: Tensor, masks: Sequence[Masks]) -> Tensor:
        encoded = encode_side_by_side(self.time_encoder, weights, number)
        rows = torch.cat([encoded, feature.unsqueeze(3)], dim=3)
        of_layer = [_below(weights, f"layers.{layer}.") for layer in range(len(self.layers))]
        found = self.represent_side_by_side(rows, of_layer, masks)
        return linear(found, weights["head.weight"], weights["head.bias"]).squeeze(2)

    @abstractmethod
    def represent_side_by_side(self, rows: Tensor, weights: list[Weights], masks: Sequence[Masks]) -> Tensor:
        """rows [models, sequences, length, width], weights and masks of each layer: [models, sequences, width]."""


class FullAttention(SequenceClassifier):
    """Every row attends to all rows; the mean of the last layer's rows is read, as in DyGFormer."""

    name, reads_last = "full", False

    def represent(self, rows: Tensor, packing: Packing, key: Tensor) -> Tensor:
        for layer in self.layers:
            rows = layer(rows, packing, key)
        return rows.view(*packing.filled.shape, -1).mean(1)

    def represent_side_by_side(self, rows: Tensor, weights: list[Weights], masks: Sequence[Masks]) -> Tensor:
        for of_layer, mask in zip(weights, masks, strict=True):
            rows = transform(of_layer, rows, None, mask)
        return rows.mean(2)

    def masks(self, dropouts: Dropouts, size: int) -> list[Sequence[Masks]]:
        length = dropouts.key.shape[2]
        of_layer = [dropouts.masks(layer, self.width, length, size) for layer in range(len(self.layers))]
        return list(zip(*of_layer, strict=True))


class Autoregressive(SequenceClassifier):
    """No row attends to a later one; the last row of the last layer is read, and no other is computed there."""

    name, reads_last = "autoregressive", True

    def represent(self, rows: Tensor, packing: Packing, key: Tensor) -> Tensor:
        *first, final = self.layers
        for layer in first:
            rows = layer(rows, packing, key, causal=True)
        length = packing.filled.shape[1]
        last = torch.arange(length - 1, len(rows), length, device=rows.device)
        return final.last(rows, packing, key, last)  # type: ignore[operator,no-any-return]

    def represent_side_by_side(self, rows: Tensor, weights: list[Weights], masks: Sequence[Masks]) -> Tensor:
        length = rows.shape[2]
        hidden = torch.full((length, length), -torch.inf, dtype=rows.dtype, device=rows.device).triu(1)
        for of_layer, mask in zip(weights[:-1], masks[:-1], strict=True):
            rows = transform(of_layer, rows, hidden, mask)
        return transform_last(weights[-1], rows, masks[-1]).squeeze(2)

    def masks(self, dropouts: Dropouts, size: int) -> list[Sequence[Masks]]:
        final, length = len(self.layers) - 1, dropouts.key.shape[2]
        of_layer = [dropouts.masks(layer, self.width, length, size) for layer in range(final)]
        of_layer.append(dropouts.last().masks(final, self.width, length, size))
        return list(zip(*of_layer, strict=True))


KINDS: dict[str, type[SequenceClassifier]] = {kind.name: kind for kind in (FullAttention, Autoregressive)}


def encode_side_by_side(encoder: TimeEncoder, weights: Weights, number: Tensor) -> Tensor:
    """number [models, sequences, rows] to [models, sequences, rows, features], by encoders of one kind."""
    own, number = _below(weights, "time_encoder."), number.unsqueeze(3)
    weight = own["weight"][:, None, None]
    if isinstance(encoder, SineCosine):
        angle = number * weight
        return torch.stack([angle.cos(), angle.sin()], dim=4).flatten(3)
    if isinstance(encoder, Cosine | Linear):
        line = torch.addcmul(own["bias"][:, None, None], number, weight)
        return line.cos() if isinstance(encoder, Cosine) else line
    raise ChronolinkError(f"{type(encoder).__name__} cannot be stacked; take linear, cosine or sine-cosine")


def _below(weights: Weights, prefix: str) -> Weights:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
