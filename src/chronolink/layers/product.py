"""Matrix products over many rows, by the faster library"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROWS, COLUMNS = 1024, 32  # fewer are not worth a plan


def product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows W^T + b, rows [rows, inputs] and weight [outputs, inputs]: what `F.linear` gives, to rounding.

    In single precision torch multiplies by MKL, which on other processors than Intel's leaves half of the vector unit
    idle. oneDNN, which torch convolves by, does not: a product is a convolution of one pixel over an image with a pixel
    for each row, side by side; one above the other the gradient of the weights takes three times as long.
    """
    if not (len(rows) >= ROWS and min(weight.shape) >= COLUMNS and _convolves(rows)):
        return F.linear(rows, weight, bias)
    image = rows.contiguous().view(1, 1, len(rows), -1).permute(0, 3, 1, 2)  # channels last: nothing is moved
    found = F.conv2d(image, weight.unsqueeze(-1).unsqueeze(-1), bias)
    return found.permute(0, 2, 3, 1).reshape(len(rows), -1)


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
