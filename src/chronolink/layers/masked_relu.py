"""ReLU of a product, with entries left out, in one pass over the rows"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .compiled import compiled, draw, over_rows, room

_ZERO = np.float32(0)


def masked_relu(x: Tensor, bias: Tensor, key: Tensor, least: int) -> Tensor:
    """ReLU(x + b), written into x, with zeros where the `lanes` of key [rows] are below `least`; as for `masked_gelu`.

    What is left out is 0, and ReLU passes no gradient there: nothing is drawn anew.
    """
    found: Tensor = _MaskedRelu.apply(x, bias, key, least)  # type: ignore[no-untyped-call]
    return found


class _MaskedRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, key: Tensor, least: int) -> Tensor:
        ctx.mark_dirty(x)
        over_rows(_relu, x, key, np.int16(least), bias)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (shown,) = ctx.saved_tensors
        passed = torch.ops.aten.threshold_backward(gradient, shown, 0)
        return passed, passed.new_ones(len(passed)) @ passed, None, None


@compiled
def _relu(x: Any, key: Any, least: Any, bias: Any, start: int, end: int) -> None:
    drawn, lane = room(x.shape[1])
    for number in range(start, end):
        draw(key[number], drawn)
        row = x[number]
        for column in range(len(row)):
            value = row[column] + bias[column]
            row[column] = value if (value > _ZERO) & (lane[column] >= least) else _ZERO
