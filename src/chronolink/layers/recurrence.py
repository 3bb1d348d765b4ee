"""Recurrent cells with folded time features"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .unrounded import unrounded


class Gated(nn.GRUCell):
    """r = sigmoid(W_r [m, s]), z = sigmoid(W_z [m, s]), n = tanh(W_n m + r W_s s), s' = (1 - z) n + z s.

    The last inputs may come as fewer numbers and a basis, [inputs, numbers], whose product they are.
    """

    def step(self, message: Tensor, basis: Tensor | None, state: Tensor) -> Tensor:
        weight = folded(self.weight_ih, basis)
        return unrounded(torch.gru_cell)(message, state, weight, self.weight_hh, self.bias_ih, self.bias_hh)


class Simple(nn.RNNCell):
    """s' = tanh(W m + U s + b), with a basis for the last inputs as in `Gated`."""

    def step(self, message: Tensor, basis: Tensor | None, state: Tensor) -> Tensor:
        weight = folded(self.weight_ih, basis)
        return unrounded(torch.rnn_tanh_cell)(message, state, weight, self.weight_hh, self.bias_ih, self.bias_hh)


def folded(weight: Tensor, basis: Tensor | None) -> Tensor:
    """W [a, B x] = [W_1, W_2 B] [a, x]."""
    if basis is None:
        return weight
    first = weight.shape[1] - len(basis)
    return torch.cat([weight[:, :first], weight[:, first:] @ basis], dim=1)
