"""Linear: as many lines through time"""

import torch
from torch import Tensor, nn

from ..time_encoder import Plain, TimeEncoder


class Linear(TimeEncoder):
    """phi_i(dt) = w_i z + b_i with z = (dt - mean) / deviation; w and b are learnt.

    The linear encoder of "Between Linear and Sinusoidal: Rethinking the Time Encoder in Dynamic Graph Learning".

    Args:
        width: how many features; where a linear map follows at once, as in DyGFormer, it is the one number z.
    """

    standardised = True

    def __init__(self, width: int = 100) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.empty(width).uniform_(-1, 1))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-1, 1))

    def encode(self, number: Tensor) -> Tensor:
        return number.unsqueeze(-1) * self.weight + self.bias

    def affine(self) -> Tensor:
        return torch.stack([self.weight, self.bias], dim=-1)

    def before_linear(self) -> TimeEncoder:
        return Plain()
