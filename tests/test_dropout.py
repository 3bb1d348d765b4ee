"""Dropout masks belong to rows: fair, unrelated, and the same in any batch"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from chronolink.errors import ChronolinkError
from chronolink.layers.dropout import Dropout, reseed


def layer(probability: float, seed: int = 1) -> Dropout:
    made = Dropout(probability)
    made.seed = seed
    return made


def kept(dropout: Dropout, rows: int, columns: int, first: int = 0) -> Tensor:
    """Zeros and ones [rows, columns], float64."""
    keys = torch.arange(first, first + rows)
    return (dropout(torch.ones(rows, columns, dtype=torch.float64), keys) > 0).double()


def correlation(one: Tensor, other: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_the_kept_share_is_right_and_so_is_the_scale(probability: float) -> None:
    dropout = layer(probability)
    mask = dropout(torch.ones(2000, 200, dtype=torch.float64), torch.arange(2000))
    assert abs(float((mask > 0).double().mean()) - (1 - probability)) < 5 * (0.25 / mask.numel()) ** 0.5
    assert float(mask.max()) == pytest.approx(1 / (1 - probability), rel=1e-4)
    assert len(mask.unique()) == 2


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_the_expectation_is_kept(probability: float) -> None:
    x = torch.linspace(-3, 5, 50, dtype=torch.float64).expand(20_000, 50)
    mean = layer(probability)(x, torch.arange(20_000)).mean(0)
    spread = (probability / (1 - probability) / 20_000) ** 0.5
    assert bool(((mean - x[0]).abs() <= 5 * spread * x[0].abs() + 1e-12).all())


def test_scale_and_share_agree_to_the_last_level() -> None:
    dropout = layer(0.3)  # 16 bits cannot say 0.3: share and scale are rounded alike, so the expectation is exact
    assert dropout.dropped / 65536 == pytest.approx(0.3, abs=2**-17)
    mask = dropout(torch.ones(10, 40, dtype=torch.float64), torch.arange(10))
    assert float(mask.max()) == 65536 / (65536 - dropout.dropped)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 6, 7, 8, 173])
def test_any_number_of_columns_is_masked(columns: int) -> None:
    share = kept(layer(0.3), 4000, columns).mean(0)
    assert share.shape == (columns,)
    assert bool(((share - 0.7).abs() < 0.05).all())


def test_fewer_columns_have_the_masks_of_more() -> None:
    assert torch.equal(kept(layer(0.4), 50, 7), kept(layer(0.4), 50, 30)[:, :7])


def test_a_rows_mask_does_not_depend_on_the_other_rows_or_their_order() -> None:
    generator = torch.Generator().manual_seed(0)
    x, key = torch.randn(60, 11, generator=generator), torch.randint(2**40, (60,), generator=generator)
    order, dropout = torch.randperm(60, generator=generator), layer(0.4)
    whole = dropout(x, key)
    assert torch.equal(dropout(x[order], key[order]), whole[order])
    assert torch.equal(dropout(x[7:19], key[7:19]), whole[7:19])
    for row in range(0, 60, 9):
        assert torch.equal(dropout(x[row : row + 1], key[row : row + 1])[0], whole[row])


def test_equal_keys_have_equal_masks() -> None:
    mask = layer(0.5)(torch.ones(3, 64), torch.tensor([5, 9, 5]))
    assert torch.equal(mask[0], mask[2])
    assert not torch.equal(mask[0], mask[1])


def test_asking_twice_gives_the_same_mask() -> None:
    dropout = layer(0.5)
    assert torch.equal(kept(dropout, 9, 20), kept(dropout, 9, 20))


def test_other_seeds_rows_and_columns_have_other_masks() -> None:
    mask = kept(layer(0.5), 300, 64)
    assert not torch.equal(mask, kept(layer(0.5, seed=2), 300, 64))
    assert len(mask.unique(dim=0)) == 300
    assert len(mask.unique(dim=1).t()) == 64


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_neighbouring_rows_columns_and_seeds_are_unrelated(probability: float) -> None:
    mask = kept(layer(probability), 1500, 100)
    bound = 5 / mask.numel() ** 0.5
    for step in (1, 2, 3, 4, 8):
        assert abs(correlation(mask[step:], mask[:-step])) < bound
        assert abs(correlation(mask[:, step:], mask[:, :-step])) < bound
        assert abs(correlation(mask[step:, step:], mask[:-step, :-step])) < bound
        assert abs(correlation(mask, kept(layer(probability, seed=1 + step), 1500, 100))) < bound


def test_the_number_kept_in_a_row_varies_as_independent_draws_do() -> None:
    mask = kept(layer(0.3), 20_000, 100)
    assert float(mask.sum(1).var()) == pytest.approx(100 * 0.7 * 0.3, rel=0.05)
    assert float(mask.sum(0).var()) == pytest.approx(20_000 * 0.7 * 0.3, rel=0.6)


def test_there_is_no_mask_in_evaluation_or_at_probability_0() -> None:
    x, key = torch.randn(4, 6), torch.arange(4)
    assert layer(0.5).eval()(x, key) is x
    assert layer(0.0)(x, key) is x


def test_the_gradient_is_the_mask() -> None:
    x = torch.randn(30, 9, dtype=torch.float64, requires_grad=True)
    dropout, key = layer(0.4), torch.arange(30)
    dropout(x, key).sum().backward()
    assert torch.equal(x.grad, dropout(torch.ones(30, 9, dtype=torch.float64), key))
    assert torch.autograd.gradcheck(lambda value: dropout(value, key), x)


def test_an_input_of_three_dimensions_has_the_mask_of_its_flat_rows() -> None:
    x = torch.randn(5, 3, 7)
    dropout, key = layer(0.4), torch.arange(5)
    assert torch.equal(dropout(x, key), dropout(x.reshape(5, 21), key).view(5, 3, 7))
    assert len((dropout(torch.ones(5, 3, 40), key) > 0).flatten(0, 1).unique(dim=0)) == 15


def test_an_input_that_is_not_contiguous_is_masked_like_any_other() -> None:
    x = torch.randn(6, 5)
    assert torch.equal(layer(0.4)(x.t(), torch.arange(5)), layer(0.4)(x.t().contiguous(), torch.arange(5)))


@pytest.mark.parametrize("shape", [(0, 4), (0, 3, 5), (3, 0)])
def test_an_input_without_entries_stays_as_it_is(shape: tuple[int, ...]) -> None:
    assert layer(0.4)(torch.zeros(shape), torch.arange(shape[0])).shape == shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    assert layer(0.4)(torch.ones(3, 5, dtype=dtype), torch.arange(3)).dtype == dtype


def test_reseeding_gives_every_layer_and_every_step_its_own_seed() -> None:
    model = nn.Sequential(Dropout(0.1), nn.Sequential(nn.Linear(2, 2), Dropout(0.1)), Dropout(0.1))
    seeds = []
    for counters in ((1, 1, 0), (1, 1, 1), (1, 2, 0), (2, 1, 0)):
        reseed(model, *counters)
        seeds.append([module.seed for module in model.modules() if isinstance(module, Dropout)])
    assert len({seed for step in seeds for seed in step}) == 12
    reseed(model, 1, 1, 0)
    assert [module.seed for module in model.modules() if isinstance(module, Dropout)] == seeds[0]


def test_nearly_everything_can_be_dropped() -> None:
    mask = layer(1 - 1e-9)(torch.ones(2000, 100), torch.arange(2000))
    assert bool(torch.isfinite(mask).all())


@pytest.mark.parametrize("probability", [-0.1, 1.0, 1.5, float("nan")])
def test_a_probability_outside_0_to_1_is_refused(probability: float) -> None:
    with pytest.raises(ChronolinkError, match=f"dropout is {probability}; it must be at least 0 and below 1"):
        Dropout(probability)
