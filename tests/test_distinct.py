"""Equal questions are found, and each finds its place"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chronolink.layers.distinct import Distinct
from chronolink.layers.linear import FEWEST

Asked = list[tuple[int, float]]


def listed(node: Tensor, time: Tensor) -> Asked:
    return list(zip(node.tolist(), time.tolist(), strict=True))


def check(node: Tensor, time: Tensor, count: int) -> None:
    """So many distinct questions, each once, filled up with the first; every asked one is found at its place."""
    distinct, asked = Distinct.of(node, time), listed(node, time)
    found = listed(distinct.node, distinct.time)
    assert len(set(asked)) == count
    assert len(set(found[:count])) == count
    assert found[count:] == found[:1] * (len(found) - count)
    assert len(found) == (max(count, FEWEST) if asked else 0)
    assert [found[place] for place in distinct.place.tolist()] == asked
    assert not asked or int(distinct.place.max()) < count


@pytest.mark.parametrize("origin", [0.0, -40.0, 1.6e9, 1.6e12])
@pytest.mark.parametrize("asked", [1, 5, 31, 40, 200, 2000])
def test_the_distinct_questions_equal_a_python_set(origin: float, asked: int) -> None:
    generator = torch.Generator().manual_seed(asked)
    node = torch.randint(12, (asked,), generator=generator)
    time = origin + torch.randint(9, (asked,), generator=generator).to(torch.float64) / 4
    check(node, time, len(set(listed(node, time))))


def test_times_that_float32_would_round_together_stay_apart() -> None:
    check(
        torch.zeros(3, dtype=torch.int64), torch.tensor([1.6e9, 1.6e9 + 2.0**-22, 1.6e9], dtype=torch.float64), count=2
    )


def test_one_node_at_two_times_and_two_nodes_at_one_time_are_different_questions() -> None:
    check(torch.tensor([1, 1, 2]), torch.tensor([5.0, 6.0, 5.0], dtype=torch.float64), count=3)


def test_no_question_has_no_distinct_one() -> None:
    check(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.float64), count=0)


def test_large_node_ids_do_not_overflow() -> None:
    node = torch.tensor([2**40, 2**40 + 1, 2**40])
    check(node, torch.tensor([1.0, 2.0, 1.0], dtype=torch.float64), count=2)
