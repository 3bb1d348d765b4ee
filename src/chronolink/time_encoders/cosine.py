"""Cosine: the usual learnt frequencies"""

import torch
from torch import Tensor, nn

from ..layers.cosine_of_line import cosine_of_line
from ..time_encoder import TimeEncoder, frequencies


class Cosine(TimeEncoder):
    """phi_i(dt) = cos(w_i dt + b_i), w_i = 1 / 10^linspace(0, 9) and b_i = 0 at the start, both learnt.

    TGAT's encoder (Xu et al. 2020), which most later models took over; the paper's "sinusoidal".

    Args:
        width: how many features.
    """

    def __init__(self, width: int = 100) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(frequencies(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def encode(self, number: Tensor) -> Tensor:
        return cosine_of_line(number, self.weight, self.bias)
