"""Equal questions are found, and each finds its place"""

from __future__ import annotations

import pytest
import torch

from chronolink.layers.distinct import Distinct


@pytest.mark.parametrize("origin", [0.0, -40.0, 1.6e9, 1.6e12])
@pytest.mark.parametrize("seed", range(4))
def test_the_distinct_questions_equal_a_python_set(origin: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    node = torch.randint(6, (200,), generator=generator)
    time = origin + torch.randint(9, (200,), generator=generator).to(torch.float64) / 4
    distinct = Distinct.of(node, time)
    pairs = list(zip(distinct.node.tolist(), distinct.time.tolist(), strict=True))
    asked = list(zip(node.tolist(), time.tolist(), strict=True))
    assert len(pairs) == len(set(pairs)) == len(set(asked))
    assert [pairs[place] for place in distinct.place.tolist()] == asked


def test_times_that_float32_would_round_together_stay_apart() -> None:
    time = torch.tensor([1.6e9, 1.6e9 + 2.0**-22, 1.6e9], dtype=torch.float64)
    distinct = Distinct.of(torch.zeros(3, dtype=torch.int64), time)
    assert len(distinct.node) == 2
    assert torch.equal(distinct.time[distinct.place], time)


def test_one_node_at_two_times_and_two_nodes_at_one_time_are_different_questions() -> None:
    distinct = Distinct.of(torch.tensor([1, 1, 2]), torch.tensor([5.0, 6.0, 5.0], dtype=torch.float64))
    assert len(distinct.node) == 3


def test_no_question_has_no_distinct_one() -> None:
    distinct = Distinct.of(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.float64))
    assert len(distinct.node) == len(distinct.time) == len(distinct.place) == 0


def test_large_node_ids_do_not_overflow() -> None:
    node = torch.tensor([2**40, 2**40 + 1, 2**40])
    distinct = Distinct.of(node, torch.tensor([1.0, 2.0, 1.0], dtype=torch.float64))
    assert torch.equal(distinct.node[distinct.place], node)
    assert len(distinct.node) == 2
