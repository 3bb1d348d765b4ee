"""Sine and cosine of each frequency"""

import torch
from torch import Tensor, nn

from ..errors import ChronolinkError
from ..time_encoder import TimeEncoder, frequencies


class SineCosine(TimeEncoder):
    """phi(dt) = [cos(w_1 dt), sin(w_1 dt), ..., cos(w_m dt), sin(w_m dt)], m = width / 2, w learnt.

    The pairs of Xu et al. (2019): inner products of encodings depend on the span between two times alone.

    Args:
        width: how many features.
    """

    def __init__(self, width: int = 100) -> None:
        super().__init__(width)
        if width % 2:
            raise ChronolinkError(f"sine-cosine takes an even width, not {width}; try {width + 1}")
        self.weight = nn.Parameter(frequencies(width // 2))

    def encode(self, number: Tensor) -> Tensor:
        angle = number.unsqueeze(-1) * self.weight
        return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(-2)
