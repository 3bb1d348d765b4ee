"""Popularity, recency and their sum against plain loops"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from chronolink import ChronolinkError, EventStream, History, LinkQuery, TemporalGraph, build
from tests.streams import random_graph

Stream = list[tuple[int, int, float]]
NODES, WINDOW = 6, 9e4
HEURISTICS = ["popularity", "recency", "popularity-recency"]


def popularity(stream: Stream, _: int, destination: int, time: float) -> float:
    lately = [event for event in stream if event[2] < time and time - event[2] <= WINDOW]
    count, average = sum(event[1] == destination for event in lately), len(lately) / NODES
    return count / (count + average) if count else 0.0


def recency(stream: Stream, source: int, destination: int, time: float) -> float:
    before = [event for event in stream if event[2] < time]
    met = max((t for s, d, t in before if (s, d) == (source, destination)), default=-math.inf)
    seen = max((t for s, d, t in before if destination in (s, d)), default=-math.inf)
    fresh = [WINDOW / (WINDOW + time - when) for when in (met, seen)]
    return (1 + fresh[0]) / 2 if met > -math.inf else fresh[1] / 2


def both(*question: object) -> float:
    return popularity(*question) + recency(*question)  # type: ignore[arg-type]


def asked(graph: TemporalGraph) -> LinkQuery:
    """Every event of the stream at its own time, and the same ends the other way round, shuffled."""
    query = LinkQuery.of(graph.events)
    return query + LinkQuery(query.destination.flip(0), query.source.flip(0), query.time)


@pytest.mark.parametrize(
    ("model", "expected"), list(zip(HEURISTICS, [popularity, recency, both], strict=True)), ids=HEURISTICS
)
@pytest.mark.parametrize("events", [200, 12])
def test_the_score_is_that_of_a_walk_through_the_stream(
    model: str, expected: Callable[..., float], events: int
) -> None:
    graph = random_graph(events, NODES)
    columns = (graph.events.source, graph.events.destination, graph.events.time)
    stream: Stream = list(zip(*(column.tolist() for column in columns), strict=True))
    query = asked(graph)
    questions = zip(query.source.tolist(), query.destination.tolist(), query.time.tolist(), strict=True)
    wanted = [expected(stream, *question) for question in questions]
    scores = build(model, graph, window=WINDOW)(query, History(graph))
    assert scores.tolist() == pytest.approx(wanted, abs=1e-6)
    assert len({round(score, 4) for score in wanted}) > 2


def test_who_met_comes_before_who_did_not_and_the_later_the_higher() -> None:
    graph = random_graph(100, 12)
    query, history = asked(graph), History(graph)
    scores = build("recency", graph, window=WINDOW)(query, history)
    met = history.last_meeting(query.source, query.destination, query.time)
    known = met.isfinite()
    assert scores[known].min() > 0.5 >= scores[~known].max()
    assert (scores[known][(query.time - met)[known].argsort()].diff() <= 0).all()


@pytest.mark.parametrize("model", ["recency"])
def test_the_order_by_recency_does_not_depend_on_the_window(model: str) -> None:
    graph = random_graph(100, 12)
    query, history = asked(graph), History(graph)
    first, second = (build(model, graph, window=window)(query, history) for window in (1e5, 4e5))
    order = first.argsort(stable=True)
    assert (second[order].diff() >= -1e-7).all()


@pytest.mark.parametrize("model", [*HEURISTICS, "edgebank-window"])
def test_the_window_is_taken_from_the_training_events_unless_it_is_given(model: str) -> None:
    graph = random_graph()
    free, given = build(model, graph), build(model, graph, window=5.0)
    for built in (free, given):
        built.prepare(graph.events, History(graph))
        assert not list(built.parameters())
    span = graph.events.time[-1] - graph.events.time[0]
    assert free.window == pytest.approx(span.item() * 15 / 70)
    assert given.window == 5.0


@pytest.mark.parametrize("model", HEURISTICS)
def test_an_empty_history_scores_nothing(model: str) -> None:
    graph = random_graph()
    query = LinkQuery(torch.tensor([1]), torch.tensor([2]), torch.tensor([1e10], dtype=torch.float64))
    assert build(model, graph)(query, History(graph.cut(graph.events[:0]))).tolist() == [0.0]


@pytest.mark.parametrize("model", [*HEURISTICS, "edgebank-window"])
def test_a_stream_of_one_moment_keeps_a_window_above_nothing(model: str) -> None:
    graph = random_graph(span=0.0)
    built = build(model, graph)
    built.prepare(graph.events, History(graph))
    assert built.window > 0
    assert built(asked(graph), History(graph)).isfinite().all()


@pytest.mark.parametrize("model", [*HEURISTICS, "edgebank-window"])
@pytest.mark.parametrize("window", [0.0, -1.0, math.inf, math.nan])
def test_a_window_that_is_no_span_is_refused(model: str, window: float) -> None:
    with pytest.raises(ChronolinkError, match="is no span of time; give a time above 0"):
        build(model, random_graph(), window=window)


def test_the_window_holds_its_far_edge_and_not_the_asked_moment() -> None:
    stream = EventStream.sorted([0, 0, 0], [1, 2, 3], [10.0, 11.0, 15.0])
    history = History(TemporalGraph.of(stream))
    query = LinkQuery(torch.zeros(3, dtype=torch.int64), torch.tensor([1, 2, 3]), torch.tensor([15.0] * 3).double())
    scores = [build("popularity", history.graph, window=window)(query, history).gt(0).tolist() for window in (5.0, 4.5)]
    assert scores == [[True, True, False], [False, True, False]]
