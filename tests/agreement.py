"""A model and its slow twin, values and gradients"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def agree(model: nn.Module, found: Tensor, expected: Tensor) -> None:
    """Both answers are the same function of the model's parameters, and every parameter has a gradient."""
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    weight = torch.linspace(-1, 1, len(found), dtype=torch.float64)
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.numel()}
    gradients = torch.autograd.grad(found @ weight, list(named.values()), allow_unused=True)
    wanted = torch.autograd.grad(expected @ weight, list(named.values()), allow_unused=True)
    for name, gradient, want in zip(named, gradients, wanted, strict=True):
        assert gradient is not None, name
        assert want is not None, name
        torch.testing.assert_close(gradient, want, rtol=0, atol=1e-10 * max(1.0, float(want.abs().max())), msg=name)
