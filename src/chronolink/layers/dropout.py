"""Dropout whose masks belong to questions"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import ChronolinkError
from .product import mapped, product

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

    @property
    def scale(self) -> float:
        """What is kept is multiplied by this, so that the expectation stays."""
        return LEVELS / (LEVELS - self.dropped) if self.training else 1.0

    def forward(self, x: Tensor, key: Tensor) -> Tensor:
        """x [rows, ...] with key [rows] int64."""
        return self.drop(x * self.scale, key) if self.training and self.dropped else x

    def drop(self, x: Tensor, key: Tensor) -> Tensor:
        """Zeros alone, written into x itself; the scale is left to the product that follows."""
        if not (self.training and self.dropped):
            return x
        from .masked import masked  # numba is imported where something is trained

        return masked(x, fold(self.seed, key), self._least)

    def after_gelu(self, layer: nn.Linear, rows: Tensor, key: Tensor) -> Tensor:
        """`drop` of GELU(W rows + b), rows [rows, width]."""
        if not self._compiles(rows):
            return self.drop(F.gelu(mapped(layer, rows)), key)
        from .masked_gelu import masked_gelu

        return masked_gelu(product(rows, layer.weight), layer.bias, fold(self.seed, key), self._least)

    def after_relu(self, layer: nn.Linear, rows: Tensor, key: Tensor) -> Tensor:
        """`drop` of ReLU(W rows + b), rows [rows, width]."""
        if not self._compiles(rows):
            return torch.relu(self.drop(mapped(layer, rows), key))
        from .masked_relu import masked_relu

        return masked_relu(product(rows, layer.weight), layer.bias, fold(self.seed, key), self._least)

    def _compiles(self, rows: Tensor) -> bool:
        if not (self.training and self.dropped and rows.numel()) or torch.is_autocast_enabled("cpu"):
            return False
        from .compiled import compiles

        return compiles(rows)

    @property
    def _least(self) -> int:
        """The lowest lane that is kept."""
        return self.dropped - LEVELS // 2

    def extra_repr(self) -> str:
        return f"probability={self.dropped / LEVELS:.4g}"


def reseed(model: nn.Module, *counters: int) -> None:
    """Gives every dropout of a model its seed for one training step."""
    layers = [module for module in model.modules() if isinstance(module, Dropout)]
    for site, layer in enumerate(layers):
        layer.seed = int(fold(*counters, site))
