from __future__ import annotations

import numpy as np
import pytest
import torch

from chronolink import History, LinkQuery, Split, build, load
from chronolink.metrics import ranking
from chronolink.negatives import BLOCK, RandomNegatives
from tests.pages import ROOT
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


def test_knowing_what_the_benchmark_lets_it_know_it_has_the_literature_s_figure() -> None:
    """Nothing of its own batch, and of the training split nothing of the nodes that are kept for the test."""
    graph = load("uci")
    split = Split.of(graph)
    test = split.test(graph.events)
    asked = pairs(LinkQuery.of(test))
    figures = []
    for seed in range(3):
        beside = pairs(RandomNegatives(graph.events, graph.num_nodes).beside(test, seed=seed))
        known = {
            pair
            for part in (split.train(graph.events), split.validation(graph.events))
            for pair in pairs(LinkQuery.of(part))
        }
        scores: tuple[list[bool], list[bool]] = ([], [])
        for start in range(0, len(asked), BLOCK):
            for found, questions in zip(scores, (asked, beside), strict=True):
                found += [pair in known for pair in questions[start : start + BLOCK]]
            known.update(asked[start : start + BLOCK])
        positive, negative = (np.array(found, dtype=np.float64) for found in scores)
        figures.append(100 * ranking(positive, negative)["ap_batch"])
    low, middle, high = (f"{figure:.2f}" for figure in sorted(figures))
    assert abs(float(middle) - 76.20) < 0.25
    page = " ".join((ROOT / "docs" / "paper.md").read_text().split())
    assert f"it has {low}, {middle} and {high} with three draws" in page


def pairs(query: LinkQuery) -> list[tuple[int, int]]:
    return list(zip(query.source.tolist(), query.destination.tolist(), strict=True))
