"""Contract: event sequences to logits"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from .draws import fold
from .layers.side_by_side import Dropouts, Masks, Weights
from .time_encoder import TimeEncoder


class SequenceModel(nn.Module, ABC):
    """Answers for whole sequences of events, alone or for many models at once.

    `forward` is the model as it is used. `side_by_side` is the same function with the parameters of many models
    stacked, for training: models this small take longer to call than to compute.
    """

    name: ClassVar[str]
    reads_last: ClassVar[bool]  # the answer hangs on the last row, the asked moment, and what that attends to
    time_encoder: TimeEncoder
    layers: nn.ModuleList

    @abstractmethod
    def forward(self, elapsed: Tensor, feature: Tensor, key: Tensor) -> Tensor:
        """elapsed, feature [sequences, events], key [sequences] int64, a sequence's own in any batch: logits."""

    @abstractmethod
    def side_by_side(self, weights: Weights, number: Tensor, feature: Tensor, masks: Sequence[Masks]) -> Tensor:
        """Logits [models, sequences] of models that differ from this one in nothing but their parameters.

        weights: by parameter; number, feature [models, sequences, rows]: what the encoders encode and the features,
        the asked moment as the last row; masks: one a layer.
        """

    @abstractmethod
    def masks(self, dropouts: Dropouts, size: int) -> list[Sequence[Masks]]:
        """What the layers drop, by batches of `size` sequences."""


def with_asked(column: Tensor) -> Tensor:
    """[..., events] and a 0 for the asked moment itself, [..., events + 1]."""
    return torch.cat([column, torch.zeros_like(column[..., :1])], dim=-1)


def row_keys(key: Tensor, length: int) -> Tensor:
    """[sequences] to [sequences, length] int64: a row's own, whatever else is in its batch."""
    return fold(key.unsqueeze(1), torch.arange(length, device=key.device))
