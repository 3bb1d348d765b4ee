"""Dropout whose masks belong to questions"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..draws import GOLDEN, fold, scramble
from ..errors import ChronolinkError

LEVELS = 1 << 16


class Dropout(nn.Module):
    """Dropout with masks that are functions of (seed, row key, column), 16 bits an entry.

    A row's mask does not depend on the other rows, so a training step is the same however its questions are
    shared out over processes, and a run that is taken up again needs no generator's state.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ChronolinkError(f"dropout is {probability}; it must be at least 0 and below 1")
        self.dropped = min(round(probability * LEVELS), LEVELS - 1)
        self.seed = 0

    def forward(self, x: Tensor, key: Tensor) -> Tensor:
        """x [rows, ...] with key [rows] int64."""
        if not self.training or self.dropped == 0:
            return x
        columns = x[0].numel() if len(x) else 0
        words = torch.arange(-(-columns // 4), device=x.device) * GOLDEN
        bits = scramble(fold(self.seed, key).unsqueeze(-1) + words).view(torch.int16)[:, :columns]
        kept = (bits >= self.dropped - LEVELS // 2).to(x.dtype) * (LEVELS / (LEVELS - self.dropped))
        return x * kept.view(x.shape)

    def extra_repr(self) -> str:
        return f"probability={self.dropped / LEVELS:.4g}"


def reseed(model: nn.Module, *counters: int) -> None:
    """Gives every dropout of a model its seed for one training step."""
    layers = [module for module in model.modules() if isinstance(module, Dropout)]
    for site, layer in enumerate(layers):
        layer.seed = int(fold(*counters, site))
