"""Products by the faster library equal those of the other"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.profiler import profile
from torch.nn import functional as F

from chronolink.layers import product as module
from chronolink.layers.product import COLUMNS, ROWS, mapped, product


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if half of the vector unit lay idle, on two threads."""
    monkeypatch.setattr(module, "_idle", lambda: True)
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: max(threads, 2))


def given(rows: int, inputs: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows + inputs + outputs)
    sizes = (rows, inputs), (outputs, inputs), (outputs,)
    first, second, third = (torch.randn(size, generator=generator).requires_grad_() for size in sizes)
    return first, second, third


def convolutions(*given: Tensor | None) -> int:
    with profile() as watched, torch.no_grad():
        product(*given)
    return sum("conv2d" in event.name for event in watched.function_events)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize(
    ("rows", "inputs", "outputs"), [(ROWS, 32, 33), (1500, 200, 800), (1024, 75, 300), (5, 40, 40)]
)
def test_values_and_gradients_equal_the_linear_map(rows: int, inputs: int, outputs: int, with_bias: bool) -> None:
    found = given(rows, inputs, outputs)
    exact = tuple(part.detach().double().requires_grad_() for part in found)
    value = product(*found[:2], found[2] if with_bias else None)
    expected = F.linear(*exact[:2], exact[2] if with_bias else None)
    torch.testing.assert_close(value.double(), expected, rtol=0, atol=1e-3)
    weight = torch.linspace(-1, 1, value.numel()).reshape(value.shape)
    value.backward(weight)
    expected.backward(weight.double())
    for ours, wanted in list(zip(found, exact, strict=True))[: 3 if with_bias else 2]:
        torch.testing.assert_close(ours.grad.double(), wanted.grad, rtol=1e-4, atol=2e-3)


def test_rows_and_weights_may_be_views() -> None:
    rows, weight, bias = given(1200, 64, 48)
    across = rows.detach().T.contiguous().T
    turned = weight.detach().T.contiguous().T
    cut = torch.cat([rows, rows], dim=1).detach()[:, 64:]
    for view in (across, cut):
        torch.testing.assert_close(product(view, turned, bias), F.linear(rows, weight, bias), rtol=0, atol=1e-4)


def test_it_convolves_where_that_is_worth_it_and_only_there() -> None:
    rows, weight, bias = (part.detach() for part in given(ROWS, COLUMNS, COLUMNS))
    assert convolutions(rows, weight, bias) > 0
    assert convolutions(rows[1:], weight, bias) == 0
    assert convolutions(rows, weight[1:], None) == 0
    assert convolutions(rows[:, 1:], weight[:, 1:], bias) == 0
    assert convolutions(rows.double(), weight.double(), bias.double()) == 0
    with torch.autocast("cpu", torch.bfloat16):
        assert convolutions(rows, weight, bias) == 0


def test_one_thread_multiplies_as_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert convolutions(*(part.detach() for part in given(ROWS, 64, 64))) == 0


def test_a_layer_is_mapped_with_its_own_weights() -> None:
    layer, rows = nn.Linear(40, 50), torch.randn(2000, 40)
    torch.testing.assert_close(mapped(layer, rows), layer(rows), rtol=0, atol=1e-5)
