"""A model and its slow twin, values and gradients"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from chronolink.history import History
from chronolink.layers.dropout import reseed
from chronolink.model import LinkModel
from chronolink.query import LinkQuery


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


def dropout_belongs_to_questions(model: LinkModel, query: LinkQuery, history: History) -> None:
    """The same seed gives the same answers, however the questions are shared out; another seed gives others."""
    model.train()
    reseed(model, 5)
    together = model(query, history)
    reseed(model, 5)
    assert torch.equal(together, model(query, history))
    apart = torch.stack([model(query[0::2], history), model(query[1::2], history)], 1).flatten()
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-10)
    reseed(model, 6)
    assert not torch.allclose(together, model(query, history))
