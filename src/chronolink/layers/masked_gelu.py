"""GELU of a product, with entries left out, in one pass over the rows"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .compiled import compiled, draw, inlined, over_rows, room
from .exponential import exponential

_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
# 1 - Phi(x) = t (a + t (b + t (c + t (d + t e)))) exp(-x^2 / 2) with t = 1 / (1 + p x), to 7.5e-8 for x >= 0
# (Abramowitz and Stegun 1964, 7.1.26)
_P = np.float32(0.3275911 / math.sqrt(2.0))
_A, _B, _C, _D, _E = (np.float32(a / 2) for a in (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429))
_NORMAL = np.float32(1 / math.sqrt(2 * math.pi))


def masked_gelu(x: Tensor, bias: Tensor, key: Tensor, least: int) -> Tensor:
    """GELU(x + b) with zeros where the `lanes` of key [rows] are below `least`, for x [rows, columns] float32 on a CPU.

    Bias, function and mask in one pass, and so in the gradient; as near to GELU as torch's own.
    """
    found: Tensor = _MaskedGelu.apply(x, bias, key, least)  # type: ignore[no-untyped-call]
    return found


class _MaskedGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, key: Tensor, least: int) -> Tensor:
        ctx.save_for_backward(x, bias, key)
        ctx.least = least
        out = torch.empty_like(x)
        over_rows(_gelu, x, key, np.int16(least), bias, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, bias, key = ctx.saved_tensors
        out = torch.empty_like(x)
        over_rows(_slope, x, key, np.int16(ctx.least), bias, gradient, out)
        return out, out.new_ones(len(out)) @ out, None, None


@compiled
def _gelu(x: Any, key: Any, least: Any, bias: Any, out: Any, start: int, end: int) -> None:
    drawn, lane = room(x.shape[1])
    for number in range(start, end):
        draw(key[number], drawn)
        row, shown = x[number], out[number]
        for column in range(len(row)):
            value = row[column] + bias[column]
            share, _ = _normal(value)
            shown[column] = value * share if lane[column] >= least else _ZERO


@compiled
def _slope(x: Any, key: Any, least: Any, bias: Any, passed: Any, out: Any, start: int, end: int) -> None:
    """Phi(x) + x phi(x), times what is passed back."""
    drawn, lane = room(x.shape[1])
    for number in range(start, end):
        draw(key[number], drawn)
        row, given, shown = x[number], passed[number], out[number]
        for column in range(len(row)):
            value = row[column] + bias[column]
            share, density = _normal(value)
            slope = share + value * density
            shown[column] = given[column] * slope if lane[column] >= least else _ZERO


@inlined
def _normal(x: Any) -> Any:
    """Phi(x) and phi(x) of the normal distribution."""
    bell, t = exponential(-_HALF * x * x), _ONE / (_ONE + _P * abs(x))
    tail = t * (_A + t * (_B + t * (_C + t * (_D + t * _E)))) * bell
    return _HALF + np.copysign(_HALF - tail, x), _NORMAL * bell
