"""Logarithm: lines through log time"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..time_encoder import TimeEncoder


class Logarithm(TimeEncoder):
    """phi_i(dt) = w_i log(1 + dt / s) + b_i, s being the mean elapsed time in training; w and b are learnt.

    Args:
        width: how many features.
    """

    standardised = True  # so that the mean is fitted on the training events, and saved with the model

    def __init__(self, width: int = 100) -> None:
        super().__init__(width)
        self.weight = nn.Parameter(torch.empty(width).uniform_(-1, 1))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-1, 1))

    def number(self, elapsed: Tensor) -> Tensor:
        mean = torch.where(self.scale.mean > 0, self.scale.mean, 1.0)
        return torch.log1p(elapsed.double() / mean).to(self.weight.dtype)

    def encode(self, number: Tensor) -> Tensor:
        return number.unsqueeze(-1) * self.weight + self.bias

    def affine(self) -> Tensor:
        return torch.stack([self.weight, self.bias], dim=-1)
