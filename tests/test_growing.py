"""A history that grows answers as one that is built at once"""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import Tensor

from chronolink import build
from chronolink.errors import ChronolinkError
from chronolink.events import EventStream, TemporalGraph
from chronolink.growing import GrowingHistory
from chronolink.history import History, Neighbours
from chronolink.sampling import SamplingName, sampling_named
from tests.streams import questions, random_graph, unsettled

BATCHES = {"one at a time": 1, "in batches of 7": 7, "in one batch": 1000}


def grown(graph: TemporalGraph, begin: int, batch: int) -> GrowingHistory:
    """The first events at once, the others appended."""
    events = graph.events
    first = TemporalGraph(events[:begin], graph.num_nodes, graph.node_features, graph.edge_features[:begin])
    history = GrowingHistory(first)
    for start in range(begin, len(events), batch):
        part = events[start : start + batch]
        history.append(part.source, part.destination, part.time, graph.edge_features[start : start + batch])
    return history


def in_order(graph: TemporalGraph) -> TemporalGraph:
    """The same events, numbered as they come."""
    stream = graph.events
    rows = torch.arange(len(stream))
    renumbered = EventStream(stream.source, stream.destination, stream.time, rows)
    return TemporalGraph(renumbered, graph.num_nodes, graph.node_features, graph.edge_features[stream.id])


def assert_same(found: Neighbours, wanted: Neighbours) -> None:
    assert torch.equal(found.valid, wanted.valid)
    for name in ("node", "event", "time", "elapsed"):
        assert torch.equal(getattr(found, name)[found.valid], getattr(wanted, name)[wanted.valid]), name


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("sampling", get_args(SamplingName))
@pytest.mark.parametrize("begin", [0, 1, 150])
def test_every_look_up_is_that_of_the_whole(batch: int, sampling: SamplingName, begin: int) -> None:
    graph = in_order(random_graph(edge_width=2))
    whole, history = History(graph), grown(graph, begin, batch)
    asked = questions(graph, 60)
    for k in (1, 5, 60):
        chosen = sampling_named(sampling)
        assert_same(
            history.before(asked.source, asked.time, k, chosen), whole.before(asked.source, asked.time, k, chosen)
        )
    assert torch.equal(history.edge_features, whole.edge_features)
    assert history.graph.digest() == graph.digest()


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_the_last_meeting_is_that_of_the_whole(batch: int) -> None:
    graph = in_order(random_graph(nodes=6))
    asked = questions(graph, 80)
    found = grown(graph, 100, batch).last_meeting(asked.source, asked.destination, asked.time)
    wanted = History(graph).last_meeting(asked.source, asked.destination, asked.time)
    assert torch.equal(found, wanted)
    assert 10 < int(found.isfinite().sum()) < len(asked)


@pytest.mark.parametrize("model", ["tgat", "dygformer", "cawn", "graphmixer", "popularity", "recency", "edgebank"])
def test_every_kind_of_model_scores_as_with_the_whole(model: str) -> None:
    graph = in_order(random_graph(node_width=3, edge_width=2, dtype=torch.float64))
    built = unsettled(build(model, graph), graph).eval()
    asked = questions(graph)
    with torch.no_grad():
        assert torch.equal(built(asked, grown(graph, 150, 30)), built(asked, History(graph)))


def test_a_question_between_two_appends_is_answered_from_what_was_there() -> None:
    graph = in_order(random_graph())
    model = build("cawn", graph).eval()
    model.prepare(graph.events, History(graph))
    history, asked = grown(graph.cut(graph.events[:200]), 50, 10), questions(graph)
    with torch.no_grad():
        assert torch.equal(model(asked, history), model(asked, History(graph.cut(graph.events[:200]))))
        for start in range(200, 300, 20):
            part = graph.events[start : start + 20]
            history.append(part.source, part.destination, part.time, graph.edge_features[start : start + 20])
            now = History(graph.cut(graph.events[: start + 20]))
            assert torch.equal(model(asked, history), model(asked, now))


def test_new_nodes_are_welcome_and_have_no_past() -> None:
    history = GrowingHistory(random_graph(nodes=5, node_width=2))
    history.welcome(9)
    latest = history.time[-1:]
    assert history.node_features.shape == (9, 2)
    assert not bool(history.node_features[5:].any())
    assert not bool(history.before(torch.tensor([7]), latest + 1, 3).valid.any())
    history.append(torch.tensor([7]), torch.tensor([0]), latest, torch.empty(1, 0))
    past = history.before(torch.tensor([7]), latest + 1, 3)
    assert past.node[past.valid].tolist() == [0]


def test_an_older_event_is_refused_and_changes_nothing() -> None:
    graph = in_order(random_graph(edge_width=1))
    history = GrowingHistory(graph)
    with pytest.raises(ChronolinkError, match="older than the last one"):
        history.append(torch.tensor([0]), torch.tensor([1]), history.time[-1:] - 1, torch.zeros(1, 1))
    assert history.graph.digest() == graph.digest()


@pytest.mark.parametrize("position", [0, 77, 299])
def test_without_an_event_the_past_is_as_if_it_had_not_happened(position: int) -> None:
    graph = in_order(random_graph())
    history = GrowingHistory(graph)
    kept = torch.arange(len(graph.events)) != position
    other, asked = History(graph.cut(graph.events[kept])), questions(graph, 60)
    with history.without(position):
        assert_same(history.before(asked.source, asked.time, 20), other.before(asked.source, asked.time, 20))
        found = history.last_meeting(asked.source, asked.destination, asked.time)
        assert torch.equal(found, other.last_meeting(asked.source, asked.destination, asked.time))
    assert_same(history.before(asked.source, asked.time, 20), History(graph).before(asked.source, asked.time, 20))


def test_entries_move_a_few_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of all moves stays within a few times the events: the cost of an append does not grow."""
    moved = 0
    make_room = GrowingHistory._make_room

    def counted(history: GrowingHistory, nodes: Tensor, wanted: Tensor) -> None:
        nonlocal moved
        small = wanted > history._blocks["room"].rows[nodes]
        moved += int(history._blocks["count"].rows[nodes[small]].sum())
        make_room(history, nodes, wanted)

    monkeypatch.setattr(GrowingHistory, "_make_room", counted)
    graph = in_order(random_graph(events=3000, nodes=3))
    history = grown(graph, 0, 1)
    assert moved < 2 * 2 * len(graph.events)
    assert len(history._positions.rows) < 6 * 2 * len(graph.events)
