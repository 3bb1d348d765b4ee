"""A compiled step of an LSTM against its formula"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chronolink.layers.gates import Before, step


def slow(
    own: Tensor, named: Tensor, name: Tensor, parent: Tensor, recurrent: Tensor | None, past: Tensor | None
) -> tuple[Tensor, Tensor]:
    cells, states = [], []
    for row, of_name, above in zip(own, name.tolist(), parent.tolist(), strict=True):
        if recurrent is None or past is None:
            enter, new, leave = (row + named[of_name]).chunk(3)
            cell = torch.sigmoid(enter) * torch.tanh(new)
        else:
            enter, keep, new, leave = (row + named[of_name] + recurrent[above]).chunk(4)
            cell = torch.sigmoid(keep) * past[above] + torch.sigmoid(enter) * torch.tanh(new)
        cells.append(cell)
        states.append(torch.sigmoid(leave) * torch.tanh(cell))
    return torch.stack(cells), torch.stack(states)


def fast(
    own: Tensor, named: Tensor, name: Tensor, parent: Tensor, recurrent: Tensor | None, past: Tensor | None
) -> tuple[Tensor, Tensor]:
    before = None if recurrent is None or past is None else Before(parent, recurrent, past)
    return step(own * 1, named, name, before)  # `own` is written over, and a leaf may not be


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "hidden"), [(1, 1), (7, 5), (300, 131)])
@pytest.mark.parametrize("first", [True, False])
def test_values_and_gradients_equal_the_formula(rows: int, hidden: int, first: bool, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(rows + hidden)
    few, gates = rows // 3 + 1, (3 if first else 4) * hidden
    sizes = [(rows, gates), (few, gates), *([] if first else [(few, gates), (few, hidden)])]
    drawn = [torch.randn(size, dtype=torch.float64, generator=generator) * 2 for size in sizes]
    weight = torch.randn(2, rows, hidden, dtype=torch.float64, generator=generator)
    name, parent = torch.randint(few, (2, rows), generator=generator)  # several rows have one name and one parent
    given = [part.to(dtype).requires_grad_() for part in drawn]
    exact = [part.detach().double().requires_grad_() for part in given]

    def asked(parts: list[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
        own, named, *before = parts
        recurrent, past = before or (None, None)
        return own, named, name, parent, recurrent, past

    found, expected = fast(*asked(given)), slow(*asked(exact))
    loose = 2e-5 if dtype == torch.float32 else 1e-12  # many rows add to one gradient
    near = {"rtol": 0, "atol": 2e-6 if dtype == torch.float32 else 1e-14, "check_dtype": False}
    torch.testing.assert_close(found, expected, **near)
    sums = [
        sum((part.double() * w).sum() for part, w in zip(parts, weight, strict=True)) for parts in (found, expected)
    ]
    gradients = [torch.autograd.grad(total, parts) for total, parts in zip(sums, (given, exact), strict=True)]
    torch.testing.assert_close(*gradients, rtol=0, atol=loose, check_dtype=False)


def test_no_rows_are_no_step() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    cell, state = step(
        torch.zeros(0, 12), torch.zeros(1, 12), nothing, Before(nothing, torch.zeros(1, 12), torch.zeros(1, 3))
    )
    assert cell.shape == state.shape == (0, 3)


@pytest.mark.parametrize("value", [-1e9, -100.0, -1e-20, 0.0, 1e-20, 100.0, 1e9])
def test_gates_far_out_are_open_or_shut(value: float) -> None:
    named, alone = torch.full((1, 4), value, requires_grad=True), torch.zeros(2, dtype=torch.int64)
    given = torch.zeros(2, 4), named, alone, alone, torch.zeros(1, 4), torch.ones(1, 1)
    found, expected = fast(*given), slow(*given)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    found[1].sum().backward()
    assert bool(named.grad.isfinite().all())


def test_what_only_the_cell_is_asked_for_is_the_cell_s_gradient() -> None:
    own, named, name = torch.randn(40, 12, requires_grad=True), torch.randn(5, 12), torch.randint(5, (40,))
    gradients = [torch.autograd.grad(way(own, named, name, name, None, None)[0].sum(), own)[0] for way in (fast, slow)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-6)
