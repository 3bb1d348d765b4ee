"""A compiled step of an LSTM against its formula"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chronolink.layers.gates import step


def slow(gates: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
    if before is None:
        enter, new, leave = gates.chunk(3, dim=1)
        cell = torch.sigmoid(enter) * torch.tanh(new)
    else:
        enter, keep, new, leave = gates.chunk(4, dim=1)
        cell = torch.sigmoid(keep) * before + torch.sigmoid(enter) * torch.tanh(new)
    return cell, torch.sigmoid(leave) * torch.tanh(cell)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "hidden"), [(0, 3), (1, 1), (7, 5), (300, 131)])
@pytest.mark.parametrize("first", [True, False])
def test_values_and_gradients_equal_the_formula(rows: int, hidden: int, first: bool, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(rows + hidden)
    gates = torch.randn(rows, (3 if first else 4) * hidden, dtype=torch.float64, generator=generator) * 4
    before, *weight = torch.randn(3, rows, hidden, dtype=torch.float64, generator=generator).unbind()
    given = [part.to(dtype).requires_grad_() for part in ([gates] if first else [gates, before])]
    exact = [part.detach().double().requires_grad_() for part in given]
    found, expected = (f(*(part if len(part) == 2 else [*part, None])) for f, part in ((step, given), (slow, exact)))
    near = {"rtol": 0, "atol": 2e-6 if dtype == torch.float32 else 1e-14, "check_dtype": False}
    torch.testing.assert_close(found, expected, **near)
    sums = [
        sum((part.double() * w).sum() for part, w in zip(parts, weight, strict=True)) for parts in (found, expected)
    ]
    gradients = [torch.autograd.grad(total, part) for total, part in zip(sums, (given, exact), strict=True)]
    torch.testing.assert_close(*gradients, **near)


@pytest.mark.parametrize("value", [-1e9, -100.0, -1e-20, 0.0, 1e-20, 100.0, 1e9])
def test_gates_far_out_are_open_or_shut(value: float) -> None:
    gates = torch.full((2, 4), value, requires_grad=True)
    found, expected = step(gates, torch.ones(2, 1)), slow(gates.detach(), torch.ones(2, 1))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    found[1].sum().backward()
    assert bool(gates.grad.isfinite().all())


def test_what_only_the_cell_is_asked_for_is_the_cell_s_gradient() -> None:
    gates = torch.randn(40, 12, requires_grad=True)
    (found,) = torch.autograd.grad(step(gates, None)[0].sum(), gates)
    (expected,) = torch.autograd.grad(slow(gates, None)[0].sum(), gates)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
