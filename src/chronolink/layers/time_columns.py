"""A linear map of times, by few columns"""

from __future__ import annotations

from torch import Tensor

from ..time_encoder import TimeEncoder


def time_columns(encoder: TimeEncoder, number: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor | float]:
    """(columns [events, few], map [outputs, few], shift), with W phi = columns map^T + shift.

    The columns of an affine encoding are the number alone, and the encoding is never built.
    """
    line = encoder.affine()
    if line is None:
        return encoder.encode(number), weight, 0.0
    return number.unsqueeze(1), weight @ line[:, :1], weight @ line[:, 1]
