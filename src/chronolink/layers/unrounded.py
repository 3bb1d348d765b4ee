"""Products that half precision does not round"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def unrounded(product: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same product in single precision, for operands that hold times.

    Half precision has eight bits: on UCI the times of the last hours are then 17 minutes apart. What comes out of
    the product may be rounded like any other feature, for it is spread over many of them.
    """

    def whole(*operands: Tensor | None) -> Tensor:
        kind = next(operand.device.type for operand in operands if operand is not None)
        if not torch.is_autocast_enabled(kind):
            return product(*operands)
        with torch.autocast(kind, enabled=False):
            return product(*(None if operand is None else operand.float() for operand in operands))

    return whole
