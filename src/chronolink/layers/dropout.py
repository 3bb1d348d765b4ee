"""Dropout whose masks belong to questions"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..draws import fold, lanes
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
        drawn = lanes(fold(self.seed, key), x[0].numel() if len(x) else 0)
        dropped = (drawn < self.dropped - LEVELS // 2).view(x.shape)
        return _Drop.apply(x, dropped, LEVELS / (LEVELS - self.dropped))  # type: ignore[no-any-return,no-untyped-call]

    def extra_repr(self) -> str:
        return f"probability={self.dropped / LEVELS:.4g}"


class _Drop(torch.autograd.Function):
    """0 where dropped, else x scaled; what is saved is one byte an entry."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(dropped)
        ctx.scale = scale
        return (x * scale).masked_fill_(dropped, 0.0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (dropped,) = ctx.saved_tensors
        return (grad * ctx.scale).masked_fill_(dropped, 0.0), None, None


def reseed(model: nn.Module, *counters: int) -> None:
    """Gives every dropout of a model its seed for one training step."""
    layers = [module for module in model.modules() if isinstance(module, Dropout)]
    for site, layer in enumerate(layers):
        layer.seed = int(fold(*counters, site))
