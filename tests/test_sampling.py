"""Samples of the past: strictly before, fairly drawn, the same in any batch"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History, Neighbours
from chronolink.sampling import (
    RECENT,
    Sampling,
    TimeIntervalAware,
    Uniform,
    sampling_named,
    summed_weights,
)
from tests.streams import random_graph

NEVER = 1e-4  # seeds are fixed: a fair draw stays above it, a skewed one falls far below


def samplings(seed: int = 0) -> list[Sampling]:
    return [Uniform(seed), TimeIntervalAware(seed), TimeIntervalAware(seed, scale=1e-3)]


@pytest.fixture(params=range(3), ids=["uniform", "time interval aware", "steep"])
def sampling(request: pytest.FixtureRequest) -> Sampling:
    return samplings()[request.param]


def questions(graph: TemporalGraph, size: int = 200) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(4)
    place = torch.randint(len(graph.events), (size,), generator=generator)
    return torch.randint(graph.num_nodes, (size,), generator=generator), graph.events.time[place]


def star(times: list[float]) -> TemporalGraph:
    """Node 0 meets another one at each time; the event's id tells which."""
    return TemporalGraph.of(EventStream.sorted([0] * len(times), range(1, len(times) + 1), times))


def many(sampling: Sampling, graph: TemporalGraph, time: float, draws: int) -> list[int]:
    """How often each event of a star is drawn for its centre."""
    past = History(graph).before(torch.tensor([0]), torch.tensor([time], dtype=torch.float64), draws, sampling)
    assert bool(past.valid.all())
    return np.bincount(past.event.flatten().numpy(), minlength=len(graph.events)).tolist()


def everything(past: Neighbours) -> list[Tensor]:
    return [past.node, past.event, past.time, past.elapsed, past.valid]


def same(one: Neighbours, other: Neighbours) -> bool:
    return all(torch.equal(a, b) for a, b in zip(everything(one), everything(other), strict=True))


def test_every_drawn_event_belongs_to_the_node_and_lies_strictly_before(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    node, time = questions(graph)
    past = History(graph).before(node, time, 9, sampling)
    rows = {
        row: (source, destination, when)
        for row, source, destination, when in zip(
            graph.events.id.tolist(),
            graph.events.source.tolist(),
            graph.events.destination.tolist(),
            graph.events.time.tolist(),
            strict=True,
        )
    }
    for place, slot in past.valid.nonzero().tolist():
        asked, other = int(node[place]), int(past.node[place, slot])
        source, destination, when = rows[int(past.event[place, slot])]
        assert (asked, other) in ((source, destination), (destination, source))
        assert when == float(past.time[place, slot])
        assert when < float(time[place])
        assert float(past.elapsed[place, slot]) == float(time[place]) - when


def test_who_has_a_past_gets_k_events_and_who_has_none_gets_none(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    node, time = questions(graph)
    history = History(graph)
    has_past = history.before(node, time, 1).valid
    assert 0 < int(has_past.sum()) < len(node)
    assert torch.equal(history.before(node, time, 9, sampling).valid, has_past.expand(-1, 9))


def test_samples_are_oldest_first(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    past = History(graph).before(*questions(graph), 9, sampling)
    valid = past.valid[:, 0]
    assert bool((past.time[valid].diff(dim=1) >= 0).all())


def test_an_empty_history_answers_that_there_is_nothing(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    past = History(graph.cut(graph.events[:0])).before(*questions(graph), 4, sampling)
    assert not bool(past.valid.any())


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0,)])
def test_any_leading_shape_is_answered_entry_by_entry(sampling: Sampling, shape: tuple[int, ...]) -> None:
    graph = random_graph(300, 15)
    history, size = History(graph), math.prod(shape)
    node, time = (column[:size].reshape(shape) for column in questions(graph))
    shaped, flat = history.before(node, time, 5, sampling), history.before(node.flatten(), time.flatten(), 5, sampling)
    for one, other in zip(everything(shaped), everything(flat), strict=True):
        assert one.shape == (*shape, 5)
        assert torch.equal(one.reshape(size, 5), other)


def test_a_question_gets_the_same_sample_alone_and_in_any_batch(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    history = History(graph)
    node, time = questions(graph)
    order = torch.randperm(len(node), generator=torch.Generator().manual_seed(2))
    together, shuffled = history.before(node, time, 6, sampling), history.before(node[order], time[order], 6, sampling)
    for column, moved in zip(everything(together), everything(shuffled), strict=True):
        assert torch.equal(column[order], moved)
    for place in range(0, len(node), 7):
        alone = history.before(node[place], time[place], 6, sampling)
        for column, single in zip(everything(together), everything(alone), strict=True):
            assert torch.equal(column[place], single)


def test_the_same_seed_draws_the_same_and_another_seed_draws_otherwise() -> None:
    graph = random_graph(300, 15)
    history, asked = History(graph), questions(graph)
    for one, again, other in zip(samplings(1), samplings(1), samplings(2), strict=True):
        assert same(history.before(*asked, 6, one), history.before(*asked, 6, again))
        assert not same(history.before(*asked, 6, one), history.before(*asked, 6, other))


def test_what_happens_from_the_asked_time_on_changes_no_sample(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    moment = graph.events.time[200]
    cut = graph.cut(graph.events[graph.events.time < moment])
    node, time = torch.arange(15), moment.expand(15)
    assert same(History(graph).before(node, time, 6, sampling), History(cut).before(node, time, 6, sampling))


@pytest.mark.parametrize("shift", [1.6e9, -1.6e9, 1.6e12])
def test_a_shift_of_the_clock_changes_no_draw(sampling: Sampling, shift: float) -> None:
    graph = random_graph(300, 15, origin=0.0)
    moved = replace(graph, events=replace(graph.events, time=graph.events.time + shift))
    node, time = questions(graph)
    here, there = History(graph).before(node, time, 6, sampling), History(moved).before(node, time + shift, 6, sampling)
    assert torch.equal(here.event, there.event)
    assert torch.equal(here.elapsed, there.elapsed)


def test_more_slots_keep_the_draws_of_fewer(sampling: Sampling) -> None:
    graph = random_graph(300, 15)
    history, (node, time) = History(graph), questions(graph)
    few, more = history.before(node, time, 4, sampling), history.before(node, time, 12, sampling)
    for small, large in zip(few.event.tolist(), more.event.tolist(), strict=True):
        assert Counter(small) <= Counter(large)


@pytest.mark.parametrize("events", [2, 7, 64, 1000])
def test_uniform_draws_each_event_equally_often(events: int) -> None:
    for seed in range(3):
        assert chisquare(many(Uniform(seed), star(list(range(events))), 1e9, 40_000)).pvalue > NEVER


def test_uniform_is_uniform_over_seeds_too() -> None:
    counts = np.sum([many(Uniform(seed), star(list(range(10))), 1e9, 1) for seed in range(1500)], axis=0)
    assert chisquare(counts).pvalue > NEVER


def test_uniform_is_uniform_over_nodes_and_its_slots_are_independent() -> None:
    nodes, events = 9_000, 3
    source = torch.arange(nodes).repeat(events)
    graph = TemporalGraph.of(EventStream.sorted(source, source, torch.arange(events).repeat_interleave(nodes)))
    asked = torch.full((nodes,), 99.0, dtype=torch.float64)
    past = History(graph).before(torch.arange(nodes), asked, 2, Uniform(0))
    drawn = Counter(map(tuple, past.time.int().tolist()))
    pairs = [(one, other) for one in range(events) for other in range(one, events)]
    expected = [nodes * (1 if one == other else 2) / events**2 for one, other in pairs]
    assert chisquare([drawn[pair] for pair in pairs], expected).pvalue > NEVER


@pytest.mark.parametrize("shift", [0.0, 1.6e9])
@pytest.mark.parametrize("scale", [0.0, 0.02, 0.5])
def test_time_interval_aware_draws_in_proportion_to_the_weights(scale: float, shift: float) -> None:
    times = [0.0, 0.0, 1.0, 2.5, 4.0, 4.25, 7.0, 9.0, 12.0, 12.0]
    asked = 13.0
    weights = np.array([math.exp(scale * (time - asked)) for time in times])
    expected = 60_000 * weights / weights.sum()
    for seed in range(3):
        drawn = many(TimeIntervalAware(seed, scale), star([time + shift for time in times]), asked + shift, 60_000)
        assert chisquare(drawn, expected).pvalue > NEVER


def test_time_interval_aware_counts_only_what_lies_before() -> None:
    times = [float(time) for time in range(20)]
    drawn = many(TimeIntervalAware(0, 0.3), star(times), 8.0, 30_000)
    weights = np.array([math.exp(0.3 * (time - 8)) for time in times[:8]])
    assert chisquare(drawn[:8], 30_000 * weights / weights.sum()).pvalue > NEVER
    assert drawn[8:] == [0] * 12


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_weights_far_beyond_the_range_of_float64_are_drawn_too(scale: float) -> None:
    times = [-1.6e12, 0.0, 1.6e12, 1.6e12 + 1.0]
    drawn = many(TimeIntervalAware(0, scale), star(times), 1.6e12 + 2, 5_000)
    last = 1 / (1 + math.exp(-scale))
    assert drawn[:2] == [0, 0]
    assert drawn[3] / 5_000 == pytest.approx(last, abs=0.03)


def slow_sums(graph: TemporalGraph, node: int, scale: float) -> list[float]:
    """log of the running sum of exp(scale (t_i - t_1)) over one node's events, in order."""
    stream, found, first, total = graph.events, [], None, 0.0
    for source, destination, time in zip(
        stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True
    ):
        if node in (source, destination):
            first = time if first is None else first
            total += math.exp(scale * (time - first))
            found.append(math.log(total))
    return found


@pytest.mark.parametrize("scale", [1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("events", [1, 2, 3, 300])
def test_the_summed_weights_equal_a_loop(scale: float, events: int) -> None:
    graph = random_graph(events, 7, seed=events)
    slow = [value for node in range(graph.num_nodes) for value in slow_sums(graph, node, scale)]
    fast = summed_weights(History(graph), scale)
    assert fast.dtype == torch.float64
    torch.testing.assert_close(fast, torch.tensor(slow, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def test_two_histories_share_one_sampling_without_mixing_their_weights() -> None:
    steep, one, other = TimeIntervalAware(0, 1.0), star([0.0, 1.0, 2.0]), star([0.0, 1.0, 200.0])
    alone = many(TimeIntervalAware(0, 1.0), other, 999.0, 500)
    many(steep, one, 999.0, 500)
    assert many(steep, other, 999.0, 500) == alone


def test_samplings_are_known_by_name() -> None:
    assert sampling_named("recent") is RECENT
    assert type(sampling_named("uniform")) is Uniform
    aware = sampling_named("time_interval_aware", seed=3)
    assert isinstance(aware, TimeIntervalAware)
    assert aware.seed == 3
