"""cos(w x + b) and its gradients equal torch's own"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chronolink.layers.cosine_of_line import cosine_of_line

SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (0,), (3, 0)]


def inputs(shape: tuple[int, ...], width: int = 6, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(len(shape) + width)
    made = [torch.randn(size, generator=generator, dtype=dtype) for size in (shape, (width,), (width,))]
    return tuple(column.requires_grad_() for column in made)  # type: ignore[return-value]


def slow(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.cos(x.unsqueeze(-1) * weight + bias)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 6])
def test_values_and_gradients_equal_the_composition(shape: tuple[int, ...], width: int) -> None:
    found = []
    for function in (cosine_of_line, slow):
        given = inputs(shape, width)
        out = function(*given)
        assert out.shape == (*shape, width)
        weighting = torch.randn(out.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        (out * weighting).sum().backward()
        found.append([out.detach(), *(column.grad for column in given)])
    for fast, twin in zip(*found, strict=True):
        torch.testing.assert_close(fast, twin, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_the_gradients_equal_finite_differences(shape: tuple[int, ...]) -> None:
    assert torch.autograd.gradcheck(cosine_of_line, inputs(shape))


@pytest.mark.parametrize("asked", [(True, False, False), (False, True, True), (False, False, True)])
def test_only_the_asked_gradients_are_given(asked: tuple[bool, bool, bool]) -> None:
    given = inputs((4, 3))
    for column, wanted in zip(given, asked, strict=True):
        column.requires_grad_(wanted)
    cosine_of_line(*given).sum().backward()
    twins = inputs((4, 3))
    slow(*twins).sum().backward()
    for column, twin, wanted in zip(given, twins, asked, strict=True):
        assert (column.grad is not None) == wanted
        if wanted:
            torch.testing.assert_close(column.grad, twin.grad, rtol=1e-13, atol=1e-13)


def test_inputs_and_gradients_that_are_not_contiguous_are_taken() -> None:
    x, weight, bias = inputs((4, 3))
    turned = cosine_of_line(x.t(), weight, bias)
    torch.testing.assert_close(turned, slow(x, weight, bias).transpose(0, 1), rtol=1e-13, atol=1e-13)
    turned.permute(2, 1, 0)[::2].sum().backward()
    twins = inputs((4, 3))
    slow(*twins)[..., ::2].sum().backward()
    for column, twin in zip((x, weight, bias), twins, strict=True):
        torch.testing.assert_close(column.grad, twin.grad, rtol=1e-13, atol=1e-13)


def test_backward_leaves_the_given_gradient_as_it_is() -> None:
    out = cosine_of_line(*inputs((4, 3)))
    given = torch.ones_like(out)
    out.backward(given)
    assert bool((given == 1).all())


def test_float32_is_as_exact_as_torchs_own() -> None:
    given = [column.detach() for column in inputs((50, 20), 100, torch.float32)]
    exact = slow(*(column.double() for column in given))
    error = (cosine_of_line(*given) - exact).abs().max()
    assert float(error) <= 2 * float((slow(*given) - exact).abs().max()) + 1e-7
