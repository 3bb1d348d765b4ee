"""The strict past equals a plain loop over the events, exactly"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from chronolink import load
from chronolink.errors import ChronolinkError
from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History, Neighbours
from chronolink.split import Split

Past = list[tuple[int, int, float]]  # other end, event, time

NODES, EVENTS = 12, 250


def clocks() -> dict[str, Tensor]:
    """Times of one stream on clocks that have misled others."""
    generator = torch.Generator().manual_seed(5)
    steps = torch.randint(60, (EVENTS,), generator=generator).to(torch.float64)
    fractions = torch.randint(1 << 20, (EVENTS,), generator=generator).to(torch.float64) / (1 << 20)
    return {
        "ties": steps,
        "one moment": torch.full((EVENTS,), 7.0, dtype=torch.float64),
        "before 1970": steps - 1e6,
        "about zero": steps - 30,
        "seconds since 1970": 1.6e9 + steps,
        "fractions of seconds": 1.6e9 + (steps / 30).floor() + fractions,
        "milliseconds since 1970": 1.6e12 + steps,
        "the smallest steps": 1.6e9 + steps * 2.0**-22,
    }


CLOCKS = clocks()


def graph_of(time: Tensor, nodes: int = NODES, seed: int = 0) -> TemporalGraph:
    """Repeats, self-loops, both directions; ids are shuffled, so that they are not positions."""
    generator = torch.Generator().manual_seed(seed)
    ends = (torch.rand(2, len(time), generator=generator) ** 2 * nodes).long()
    rows = torch.randperm(len(time), generator=generator)
    return TemporalGraph.of(EventStream.sorted(ends[0], ends[1], time, rows), num_nodes=nodes + 2)


def questions(graph: TemporalGraph, size: int = 120, seed: int = 1) -> tuple[Tensor, Tensor]:
    """At times of events, just before and just after them, between them, before the first and after the last."""
    generator = torch.Generator().manual_seed(seed)
    time = graph.events.time[torch.randint(len(graph.events), (size,), generator=generator)]
    beside = torch.randint(5, (size,), generator=generator)
    for kind, where in ((1, torch.inf), (2, -torch.inf)):
        nudged = torch.nextafter(time, torch.tensor(where, dtype=torch.float64))
        time = torch.where(beside == kind, nudged, time)
    time = torch.where(beside == 3, time + 0.37, time)
    time[:4] = graph.events.time[0] - torch.tensor([0.0, 1e-3, 1.0, 1e10], dtype=torch.float64)
    time[4:8] = graph.events.time[-1] + torch.tensor([0.0, 1e-3, 1.0, 1e10], dtype=torch.float64)
    return torch.randint(graph.num_nodes, (size,), generator=generator), time


def slow_before(graph: TemporalGraph, node: int, time: float, k: int) -> Past:
    """The twin: all events, one after another."""
    stream, found = graph.events, []
    columns = (stream.source.tolist(), stream.destination.tolist(), stream.id.tolist(), stream.time.tolist())
    for source, destination, row, when in zip(*columns, strict=True):
        if when < time and source == node:
            found.append((destination, row, when))
        elif when < time and destination == node:
            found.append((source, row, when))
    return found[max(len(found) - k, 0) :]


def listed(past: Neighbours) -> list[Past]:
    """What a look-up found, without its padding; the leading shape is flattened."""
    columns = (past.node, past.event, past.time, past.valid)
    rows = zip(*(column.reshape(-1, column.shape[-1]).tolist() for column in columns), strict=True)
    return [[(n, e, t) for n, e, t, valid in zip(*row, strict=True) if valid] for row in rows]


def everything(past: Neighbours) -> list[Tensor]:
    return [past.node, past.event, past.time, past.elapsed, past.valid]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("k", [1, 5, 400])
def test_a_look_up_equals_a_loop_over_the_events(clock: str, k: int) -> None:
    graph = graph_of(CLOCKS[clock])
    node, time = questions(graph)
    past = History(graph).before(node, time, k)
    slow = [slow_before(graph, n, t, k) for n, t in zip(node.tolist(), time.tolist(), strict=True)]
    assert listed(past) == slow
    assert past.node.shape == past.valid.shape == (len(node), k)
    assert max(len(row) for row in slow) > 0


@pytest.mark.parametrize("seed", range(10))
def test_a_look_up_equals_a_loop_on_other_streams(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    time = torch.randint(1 + seed * 3, (60,), generator=generator).to(torch.float64) - 5
    graph = graph_of(time, nodes=1 + seed % 5, seed=seed)
    node, asked = questions(graph, size=60, seed=seed)
    slow = [slow_before(graph, n, t, 4) for n, t in zip(node.tolist(), asked.tolist(), strict=True)]
    assert listed(History(graph).before(node, asked, 4)) == slow


def test_a_look_up_equals_a_loop_on_a_piece_of_uci() -> None:
    whole = load("uci")
    graph = whole.cut(whole.events[20_000:23_000])
    node, time = graph.events.source[-40:], graph.events.time[-40:]
    slow = [slow_before(graph, n, t, 20) for n, t in zip(node.tolist(), time.tolist(), strict=True)]
    assert listed(History(graph).before(node, time, 20)) == slow


def test_events_of_the_asked_time_itself_are_not_past() -> None:
    graph = TemporalGraph.of(EventStream.sorted([0, 0, 0], [1, 2, 3], [1.0, 2.0, 2.0]))
    history = History(graph)
    asked = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert listed(history.before(torch.tensor([0, 0, 0]), asked, 5)) == [
        [],
        [(1, 0, 1.0)],
        [(1, 0, 1.0), (2, 1, 2.0), (3, 2, 2.0)],
    ]


def test_an_event_is_found_from_both_ends_and_a_self_loop_once() -> None:
    graph = TemporalGraph.of(EventStream.sorted([0, 2, 1], [1, 2, 0], [1.0, 2.0, 3.0]))
    past = History(graph).before(torch.arange(3), torch.full((3,), 9.0, dtype=torch.float64), 5)
    assert listed(past) == [[(1, 0, 1.0), (1, 2, 3.0)], [(0, 0, 1.0), (0, 2, 3.0)], [(2, 1, 2.0)]]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3, 4), (0,), (4, 0)])
def test_any_leading_shape_is_answered_entry_by_entry(shape: tuple[int, ...]) -> None:
    graph = graph_of(CLOCKS["ties"])
    history, size = History(graph), int(np.prod(shape))
    node, time = (column[8 : 8 + size].reshape(shape) for column in questions(graph))
    shaped = history.before(node, time, 6)
    flat = history.before(node.flatten(), time.flatten(), 6)
    for one, other in zip(everything(shaped), everything(flat), strict=True):
        assert one.shape == (*shape, 6)
        assert torch.equal(one.reshape(size, 6), other)


def test_columns_that_are_not_contiguous_are_answered_like_any_other() -> None:
    graph = graph_of(CLOCKS["ties"])
    history = History(graph)
    node, time = (column[:120].reshape(10, 12) for column in questions(graph))
    turned = history.before(node.t(), time.t(), 3)
    for one, other in zip(everything(turned), everything(history.before(node, time, 3)), strict=True):
        assert torch.equal(one.transpose(0, 1), other)


def test_the_order_of_questions_is_irrelevant_and_no_answer_depends_on_its_batch() -> None:
    graph = graph_of(CLOCKS["fractions of seconds"])
    history = History(graph)
    node, time = questions(graph)
    order = torch.randperm(len(node), generator=torch.Generator().manual_seed(2))
    together, shuffled = history.before(node, time, 7), history.before(node[order], time[order], 7)
    alone = [history.before(node[place : place + 1], time[place : place + 1], 7) for place in range(len(node))]
    for column, moved, single in zip(
        everything(together), everything(shuffled), zip(*map(everything, alone), strict=True), strict=True
    ):
        assert torch.equal(column[order], moved)
        assert torch.equal(column, torch.cat(single))


def test_a_longer_look_up_ends_with_the_shorter_one() -> None:
    graph = graph_of(CLOCKS["ties"])
    node, time = questions(graph)
    short, long = History(graph).before(node, time, 3), History(graph).before(node, time, 30)
    for one, other in zip(everything(short), everything(long), strict=True):
        assert torch.equal(one[short.valid], other[:, -3:][short.valid])


def test_the_latest_event_stands_last_and_padding_in_front() -> None:
    graph = graph_of(CLOCKS["ties"])
    past = History(graph).before(*questions(graph), 50)
    assert bool((past.valid[:, 1:] >= past.valid[:, :-1]).all())
    both = past.valid[:, 1:] & past.valid[:, :-1]
    assert bool((past.time[:, 1:] >= past.time[:, :-1])[both].all())
    assert bool(past.valid.any())
    assert not bool(past.valid.all())


def test_a_node_without_a_past_has_no_neighbours() -> None:
    graph = graph_of(CLOCKS["ties"])  # its last two nodes never occur
    past = History(graph).before(torch.tensor([NODES, NODES + 1]), torch.full((2,), 1e9, dtype=torch.float64), 4)
    assert not bool(past.valid.any())


@pytest.mark.parametrize("width", [0, 2])
def test_an_empty_history_answers_that_there_is_nothing(width: int) -> None:
    graph = graph_of(CLOCKS["ties"])
    graph = TemporalGraph(graph.events[:0], graph.num_nodes, graph.node_features, torch.zeros(EVENTS, width))
    history = History(graph)
    node, time = questions(graph_of(CLOCKS["ties"]))
    past = history.before(node, time, 4)
    assert not bool(past.valid.any())
    assert not bool(past.elapsed.any())
    assert history.position(time).tolist() == [0] * len(time)
    assert history.last_meeting(node, node, time).tolist() == [-torch.inf] * len(time)


@pytest.mark.parametrize("clock", CLOCKS)
def test_padding_can_be_looked_up_though_it_means_nothing(clock: str) -> None:
    graph = graph_of(CLOCKS[clock])
    past = History(graph).before(*questions(graph), 20)
    assert bool(((past.node >= 0) & (past.node < graph.num_nodes)).all())
    assert bool(((past.event >= 0) & (past.event < len(graph.events))).all())
    assert bool(torch.isfinite(past.time).all())


@pytest.mark.parametrize("clock", CLOCKS)
def test_elapsed_is_the_exact_difference_and_positive_where_valid(clock: str) -> None:
    graph = graph_of(CLOCKS[clock])
    node, time = questions(graph)
    past = History(graph).before(node, time, 20)
    assert past.elapsed.dtype == past.time.dtype == torch.float64
    assert torch.equal(past.elapsed, (time.unsqueeze(-1) - past.time) * past.valid)
    assert bool((past.elapsed[past.valid] > 0).all())
    assert past.elapsed[~past.valid].tolist() == [0.0] * int((~past.valid).sum())


def test_times_that_float32_would_round_together_are_told_apart() -> None:
    start, step = 1.6e9, 2.0**-22  # neighbouring float64 numbers; float32 steps by 128 here
    time = torch.tensor([start, start + step, start + 2 * step], dtype=torch.float64)
    assert len(time.float().unique()) == 1
    graph = TemporalGraph.of(EventStream.sorted([0, 0, 0], [1, 2, 3], time))
    past = History(graph).before(torch.zeros(3, dtype=torch.int64), time, 3)
    assert [len(row) for row in listed(past)] == [0, 1, 2]
    assert past.elapsed.tolist() == [[0, 0, 0], [0, 0, step], [0, 2 * step, step]]


def test_a_time_in_float32_is_refused() -> None:
    history = History(graph_of(CLOCKS["ties"]))
    with pytest.raises(ChronolinkError, match=r"the asked time is torch.float32; ask in torch.float64"):
        history.before(torch.tensor([0]), torch.tensor([1.0], dtype=torch.float32), 3)


def test_rank_counts_events_back_from_the_latest() -> None:
    graph = graph_of(CLOCKS["ties"])
    past = History(graph).before(*(column.reshape(2, 60) for column in questions(graph)), 5)
    assert past.rank.shape == past.valid.shape
    assert past.rank.dtype == torch.float64
    for row in past.rank.reshape(-1, 5).tolist():
        assert row == [5.0, 4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize("clock", CLOCKS)
def test_position_counts_the_events_strictly_before(clock: str) -> None:
    graph = graph_of(CLOCKS[clock])
    _, time = questions(graph)
    slow = [sum(when < asked for when in graph.events.time.tolist()) for asked in time.tolist()]
    assert History(graph).position(time).tolist() == slow


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_last_meeting_of_a_pair_equals_a_loop(clock: str) -> None:
    graph = graph_of(CLOCKS[clock])
    source, time = questions(graph, size=400)
    destination, _ = questions(graph, size=400, seed=2)
    rows = list(
        zip(graph.events.source.tolist(), graph.events.destination.tolist(), graph.events.time.tolist(), strict=True)
    )
    slow = [
        max((when for s, d, when in rows if (s, d) == (one, other) and when < asked), default=-torch.inf)
        for one, other, asked in zip(source.tolist(), destination.tolist(), time.tolist(), strict=True)
    ]
    assert History(graph).last_meeting(source, destination, time).tolist() == slow
    assert clock == "one moment" or 10 < sum(when > -torch.inf for when in slow) < 390


def test_the_past_of_training_is_cut_from_training_events_alone() -> None:
    graph = load("uci")
    split = Split.of(graph)
    history = History(graph.cut(split.train(graph.events)))
    nodes = torch.arange(graph.num_nodes)
    past = history.before(nodes, torch.full((len(nodes),), 1e12, dtype=torch.float64), 50)
    assert float(past.time[past.valid].max()) <= split.last_train
    assert not bool(past.valid[torch.tensor(split.held_out)].any())
    assert set(past.node[past.valid].tolist()).isdisjoint(split.held_out)


def test_every_filed_event_has_its_time_and_the_first_one_of_its_node() -> None:
    graph = graph_of(CLOCKS["ties"])
    stream, slow = graph.events, []
    for node in range(graph.num_nodes):
        first = len(slow)
        for source, destination, when in zip(
            stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True
        ):
            if node in (source, destination):
                slow.append((first, when))
    first_one, time = History(graph).filed()
    assert list(zip(first_one.tolist(), time.tolist(), strict=True)) == slow


def test_ten_thousand_nodes_that_never_meet_cost_nothing_but_their_row() -> None:
    events = EventStream.sorted([0, 9_999], [9_998, 0], [-3.0, 4.0])
    past = History(TemporalGraph.of(events)).before(
        torch.tensor([0, 9_998, 9_999, 5]), torch.full((4,), 5.0, dtype=torch.float64), 2
    )
    assert listed(past) == [[(9_998, 0, -3.0), (9_999, 1, 4.0)], [(0, 0, -3.0)], [(0, 1, 4.0)], []]
