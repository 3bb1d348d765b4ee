"""The compiled masks are the draws"""

from __future__ import annotations

import os
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from chronolink.draws import lanes
from chronolink.layers.masked import masked


def case(rows: int, columns: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows * 1000 + columns)
    key = torch.randint(-(2**63), 2**63 - 1, (rows,), generator=generator)
    return torch.randn(rows, columns, generator=generator).to(dtype), key


def slow(x: Tensor, key: Tensor, least: int) -> Tensor:
    return torch.where(lanes(key, x.shape[1]) >= least, x, torch.zeros((), dtype=x.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 7), (40, 64), (700, 173)])
@pytest.mark.parametrize("least", [-32768, -20000, 0, 32767])
def test_masks_are_the_draws_in_place_and_in_the_gradient(
    rows: int, columns: int, dtype: torch.dtype, least: int
) -> None:
    (x, key), weight = case(rows, columns, dtype), case(rows, columns, dtype)[0].flip(0)
    expected, of_gradient = slow(x, key, least), slow(weight, key, least)
    leaf = x.clone().requires_grad_()
    given = leaf * 1
    found = masked(given, key, least)
    assert found.data_ptr() == given.data_ptr()
    assert torch.equal(found, expected)
    found.backward(weight)
    assert leaf.grad is not None
    assert torch.equal(leaf.grad, of_gradient)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_any_number_of_threads_masks_alike(threads: int) -> None:
    x, key = case(701, 60, torch.float32)
    expected = slow(x, key, 100)
    with patch.object(torch, "get_num_threads", lambda: threads):
        assert torch.equal(masked(x, key, 100), expected)


def test_rows_that_lie_apart_are_masked_like_any_other() -> None:
    x, key = case(30, 20, torch.float32)
    expected = slow(x, key, 5)
    assert torch.equal(masked(x.t().contiguous().t(), key, 5), expected)
    assert torch.equal(masked(x, torch.stack([key, key], dim=1)[:, 0], 5), expected)


def test_a_gradient_that_is_one_number_for_all_is_masked() -> None:
    x, key = case(30, 20, torch.float64)
    leaf = x.clone().requires_grad_()
    masked(leaf * 1, key, 0).sum().backward()
    assert torch.equal(leaf.grad, slow(torch.ones_like(x), key, 0))


def test_a_forked_process_has_threads_of_its_own() -> None:
    x, key = case(2000, 60, torch.float32)
    expected = slow(x, key, 0)
    with patch.object(torch, "get_num_threads", lambda: 2):
        masked(x.clone(), key, 0)
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.equal(masked(x, key, 0), expected) else 1)
        assert os.waitpid(child, 0)[1] == 0
