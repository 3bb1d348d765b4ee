"""Draws are functions of counters, and look random"""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare, kstest
from torch import Tensor

from chronolink.draws import fold, fraction, scramble

WORD = 1 << 64


def slow_scramble(counter: int) -> int:
    """The finaliser of splitmix64 on unsigned integers, as published."""
    counter = ((counter ^ (counter >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    counter = ((counter ^ (counter >> 27)) * 0x94D049BB133111EB) % WORD
    return counter ^ (counter >> 31)


def slow_fold(*counters: int) -> int:
    mixed = 0
    for counter in counters:
        mixed = slow_scramble(((mixed ^ (counter % WORD)) * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % WORD)
    return mixed


def unsigned(values: Tensor) -> list[int]:
    return [value % WORD for value in values.flatten().tolist()]


def words(size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-(2**63), 2**63 - 1, (size,), generator=generator)


def bits(values: Tensor) -> Tensor:
    """[..., 64] of zeros and ones."""
    return (values.unsqueeze(-1) >> torch.arange(64)) & 1


def test_scramble_equals_splitmix64_on_unsigned_integers() -> None:
    counters = torch.cat([words(500), torch.tensor([0, 1, -1, 2**63 - 1, -(2**63)])])
    assert unsigned(scramble(counters)) == [slow_scramble(counter) for counter in unsigned(counters)]


def test_splitmix64_gives_its_published_first_numbers() -> None:
    # the generator's first three numbers from seed 1234567, as its authors' C code prints them
    state = torch.tensor([(1234567 + place * 0x9E3779B97F4A7C15) % WORD for place in (1, 2, 3)], dtype=torch.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert unsigned(scramble(state.view(torch.int64))) == published


def test_fold_equals_its_formula_on_unsigned_integers() -> None:
    one, other = words(200, 1), words(200, 2)
    slow = [slow_fold(7, a, -3, b) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    assert unsigned(fold(7, one, -3, other)) == slow


def test_fold_is_the_same_alone_and_broadcast() -> None:
    rows, columns = words(5, 3), words(4, 4)
    table = fold(9, rows.unsqueeze(-1), columns)
    assert table.shape == (5, 4)
    for row in range(5):
        for column in range(4):
            assert int(table[row, column]) == int(fold(9, int(rows[row]), int(columns[column])))
    assert torch.equal(fold(9, rows.unsqueeze(-1), columns), table)


def test_fold_of_plain_numbers_is_one_number() -> None:
    assert fold(1, 2, 3).shape == ()
    assert fold(1, 2, 3).dtype == torch.int64


def test_the_order_and_the_number_of_counters_matter() -> None:
    found = [fold(1, 2), fold(2, 1), fold(1, 2, 0), fold(0, 1, 2), fold(1), fold(2), fold(12), fold(3, 0), fold(0, 3)]
    assert len({int(value) for value in found}) == len(found)


def test_small_counters_do_not_collide() -> None:
    small = torch.arange(100)
    table = fold(small[:, None, None], small[:, None], small)
    assert len(table.unique()) == 100**3


@pytest.mark.parametrize("counter", [0, 1, 2])
def test_a_flipped_bit_of_any_counter_flips_about_half_of_the_bits(counter: int) -> None:
    counters = [torch.arange(1000), words(1000, 5), torch.arange(1000) // 7]
    before = bits(fold(*counters))
    for bit in range(64):
        flipped = list(counters)
        flipped[counter] = counters[counter] ^ (torch.ones((), dtype=torch.int64) << bit)
        changed = (bits(fold(*flipped)) ^ before).double()
        assert abs(float(changed.mean()) - 0.5) < 0.01
        assert float((changed.mean(0) - 0.5).abs().max()) < 0.09  # every one of the 64 bits


def test_every_bit_is_set_half_of_the_time() -> None:
    share = bits(fold(3, torch.arange(20_000))).double().mean(0)
    assert float((share - 0.5).abs().max()) < 0.02


def test_fractions_lie_strictly_between_0_and_1() -> None:
    extremes = fraction(torch.tensor([0, -1, 2**63 - 1, -(2**63), 4095, 4096]))
    assert extremes.dtype == torch.float64
    assert bool((extremes > 0).all())
    assert bool((extremes < 1).all())
    assert float(extremes[0]) == 2.0**-53
    assert float(extremes[1]) == 1 - 2.0**-53


@pytest.mark.parametrize("seed", range(4))
def test_fractions_are_uniform(seed: int) -> None:
    for counters in ((seed, torch.arange(20_000)), (torch.arange(20_000), seed), (seed, torch.arange(20_000) << 40)):
        assert kstest(fraction(fold(*counters)).numpy(), "uniform").pvalue > 1e-4


def test_neighbouring_counters_give_unrelated_fractions() -> None:
    drawn = fraction(fold(0, torch.arange(40_001)))
    pairs = (drawn[:-1] * 8).long() * 8 + (drawn[1:] * 8).long()
    assert chisquare(pairs.bincount(minlength=64).numpy()).pvalue > 1e-4
