from __future__ import annotations

import pytest
import torch

from chronolink import History, LinkQuery, build
from tests.streams import random_graph


def met(stream: list[tuple[int, int, float]], source: int, destination: int, time: float, window: float) -> bool:
    return any(s == source and d == destination and t < time and time - t <= window for s, d, t in stream)


@pytest.mark.parametrize(
    ("model", "options", "window"), [("edgebank", {}, 1e18), ("edgebank-window", {"window": 9e4}, 9e4)]
)
def test_it_remembers_the_pairs_that_met_strictly_before(model: str, options: dict[str, float], window: float) -> None:
    graph = random_graph(200, 6)
    stream = list(
        zip(graph.events.source.tolist(), graph.events.destination.tolist(), graph.events.time.tolist(), strict=True)
    )
    query = LinkQuery.of(graph.events)
    query = query + LinkQuery(query.destination.flip(0), query.source.flip(0), query.time)
    scores = build(model, graph, **options)(query, History(graph))
    expected = [
        1.0 if met(stream, s, d, t, window) else -1.0
        for s, d, t in zip(query.source.tolist(), query.destination.tolist(), query.time.tolist(), strict=True)
    ]
    assert scores.tolist() == expected
    assert len(set(expected)) == 2


def test_an_empty_history_remembers_nothing() -> None:
    graph = random_graph()
    query = LinkQuery(torch.tensor([1]), torch.tensor([2]), torch.tensor([1e10], dtype=torch.float64))
    assert build("edgebank", graph)(query, History(graph.cut(graph.events[:0]))).tolist() == [-1.0]
