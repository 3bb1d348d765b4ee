"""Compiled GELU and ReLU with a mask, against their formulae"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from chronolink.draws import lanes
from chronolink.layers.dropout import Dropout
from chronolink.layers.masked_gelu import masked_gelu


def slow(x: Tensor, bias: Tensor, key: Tensor, least: int) -> Tensor:
    value = x + bias
    return value * 0.5 * (1 + torch.erf(value / 2**0.5)) * (lanes(key, x.shape[1]) >= least)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 7), (64, 16), (900, 203)])
@pytest.mark.parametrize("least", [-32768, -26214, 100])
def test_values_and_gradients_equal_the_formula(rows: int, columns: int, least: int) -> None:
    generator = torch.Generator().manual_seed(rows + columns)
    x, weight = torch.randn(2, rows, columns, generator=generator) * 3
    bias, key = torch.randn(columns, generator=generator), torch.arange(rows) * 77
    given, exact = ([part.clone().to(dtype).requires_grad_() for part in (x, bias)] for dtype in WIDTHS)
    found, expected = masked_gelu(*given, key, least), slow(*exact, key, least)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=5e-6)
    kept = lanes(key, columns) >= least
    assert not bool(found[~kept].any())
    assert bool((found != 0)[kept & (expected.abs() > 1e-4)].all())
    found.backward(weight)
    expected.backward(weight.double())
    torch.testing.assert_close(given[0].grad.double(), exact[0].grad, rtol=0, atol=1e-5)
    torch.testing.assert_close(given[1].grad.double(), exact[1].grad, rtol=1e-5, atol=1e-5 * rows**0.5)


WIDTHS = (torch.float32, torch.float64)


def test_it_is_as_near_to_gelu_as_torch_s_own() -> None:
    x = torch.linspace(-12, 12, 200_001).unsqueeze(0)
    exact = F.gelu(x.double())
    ours = masked_gelu(x, torch.zeros(x.shape[1]), torch.zeros(1, dtype=torch.int64), -32768)
    distances = [float((found.double() - exact).abs().max()) for found in (ours, F.gelu(x))]
    assert distances[0] < max(1.5 * distances[1], 1e-6)


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-30, 80.0, -80.0, 1e6, -1e6, 1e18, -1e18])
def test_extremes_are_what_gelu_gives(value: float) -> None:
    x = torch.full((3, 9), value, requires_grad=True)
    found = masked_gelu(x, torch.zeros(9), torch.arange(3), -32768)
    torch.testing.assert_close(found, F.gelu(x), rtol=1e-6, atol=1e-6)
    found.sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 0.5 if abs(value) < 1 else float(value > 0)))


@pytest.mark.parametrize(("after", "function"), [("after_gelu", F.gelu), ("after_relu", F.relu)])
def test_dropout_after_a_function_is_the_same_compiled_and_not(
    after: str, function: Callable[[Tensor], Tensor]
) -> None:
    generator = torch.Generator().manual_seed(3)
    layer, dropout, key = nn.Linear(6, 50), Dropout(0.3), torch.arange(40)
    rows, ours = torch.randn(40, 6, generator=generator), getattr(dropout, after)
    compiled = ours(layer, rows, key)
    assert "Masked" in type(compiled.grad_fn).__name__
    plain = dropout.drop(function(layer(rows)).clone(), key)
    torch.testing.assert_close(compiled, plain, rtol=0, atol=1e-6)
    weight = torch.randn(plain.shape, generator=generator)
    gradients = [torch.autograd.grad((y * weight).sum(), [*layer.parameters()]) for y in (compiled, plain)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ours(layer, rows, key).dtype == torch.bfloat16
    dropout.eval()
    assert torch.equal(ours(layer, rows, key), function(layer(rows)))


def test_no_rows_give_none() -> None:
    assert Dropout(0.3).after_gelu(nn.Linear(6, 50), torch.zeros(0, 6), torch.zeros(0, dtype=torch.int64)).shape == (
        0,
        50,
    )
