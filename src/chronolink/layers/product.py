"""Matrix products over many rows, by the faster library"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.grad import conv2d_weight

ROWS, COLUMNS = 1024, 32  # fewer are not worth a plan


def product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows W^T + b, rows [rows, inputs] and weight [outputs, inputs]: what `F.linear` gives, to rounding.

    In single precision torch multiplies by MKL, which on other processors than Intel's leaves half of the vector unit
    idle. oneDNN, which torch convolves by, does not: a product is a convolution of one pixel over an image with a pixel
    for each row, side by side; one above the other the gradient of the weights takes three times as long.
    """
    if not (len(rows) >= ROWS and min(weight.shape) >= COLUMNS and _convolves(rows)):
        return F.linear(rows, weight, bias)
    image: Tensor = _Convolution.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return _rows(image)


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _convolved(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        for_rows, for_weight, for_bias = ctx.needs_input_grad
        gradient = _rows(gradient)
        return (
            _rows(_convolved(gradient, weight.T)) if for_rows else None,
            _correlated(gradient, rows) if for_weight else None,
            gradient.sum(0) if for_bias else None,
        )


def _convolved(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows W^T + b, as an image."""
    return F.conv2d(_image(rows), weight.unsqueeze(-1).unsqueeze(-1), bias)


def _correlated(left: Tensor, right: Tensor) -> Tensor:
    """left^T right, the gradient of a convolution's weights; it takes up to twice as long if left is the narrower."""
    if left.shape[1] < right.shape[1]:
        return _correlated(right, left).T
    size = (left.shape[1], right.shape[1], 1, 1)
    found: Tensor = conv2d_weight(_image(right), size, _image(left))
    return found.flatten(1)


def _image(rows: Tensor) -> Tensor:
    return rows.contiguous().view(1, 1, len(rows), -1).permute(0, 3, 1, 2)  # channels last: nothing is moved


def _rows(image: Tensor) -> Tensor:
    return image.permute(0, 2, 3, 1).flatten(0, 2)


def _convolves(rows: Tensor) -> bool:
    """On one thread torch takes another way for images of one pixel's convolution."""
    return (
        rows.device.type == "cpu"
        and rows.dtype == torch.float32
        and torch.get_num_threads() > 1
        and not torch.is_autocast_enabled("cpu")
        and _idle()
    )


@cache
def _idle() -> bool:
    """Whether MKL would leave half of the vector unit idle."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch.backends.mkldnn.is_available():
        return False
    known: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()  # torch before 2.9 has none
    return "AMD" in str(known.get("cpu_name", ""))


def mapped(layer: nn.Linear, rows: Tensor) -> Tensor:
    """What the layer gives, by `product`."""
    return product(rows, layer.weight, layer.bias)
