"""Time2Vec: one line, then cosines"""

import torch
from torch import Tensor, nn

from ..errors import ChronolinkError
from ..layers.cosine_of_line import cosine_of_line
from ..time_encoder import TimeEncoder, frequencies


class Time2vec(TimeEncoder):
    """phi_1(dt) = w_1 z + b_1 and phi_i(dt) = cos(w_i dt + b_i) for i > 1: both kinds together.

    Time2Vec (Kazemi et al. 2019), with the line over the standardised time z = (dt - mean) / deviation and the
    periodic part started like the cosine encoder.

    Args:
        width: how many features.
    """

    standardised = True

    def __init__(self, width: int = 100) -> None:
        super().__init__(width)
        if width < 2:
            raise ChronolinkError("time2vec takes a width of 2 or more: one line and at least one cosine")
        self.line = nn.Parameter(torch.empty(2).uniform_(-1, 1))
        self.weight = nn.Parameter(frequencies(width - 1))
        self.bias = nn.Parameter(torch.zeros(width - 1))

    def encode(self, number: Tensor) -> Tensor:
        elapsed = (number * self.scale.deviation + self.scale.mean).to(number.dtype)
        periodic = cosine_of_line(elapsed, self.weight, self.bias)
        line = number * self.line[0] + self.line[1]
        return torch.cat([line.unsqueeze(-1), periodic], dim=-1)
