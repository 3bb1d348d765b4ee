"""Node classification: embeddings of the strict past, labels, the judge"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from chronolink import ChronolinkError, LinkModel, Split, build
from chronolink.catalogue import find, members
from chronolink.events import TemporalGraph
from chronolink.history import History
from chronolink.model import PairModel
from chronolink.negatives import BLOCK
from chronolink.query import LinkQuery
from chronolink.tasks.node_classification import NodeClassification
from chronolink.training.node_classification import classify_nodes, embed_sources
from chronolink.training.processes import accelerator_for
from tests.contracts.checks import questions, ready, scrambled
from tests.streams import random_graph

EMBEDDERS = [name for name in members("models") if issubclass(find("models", name, LinkModel), PairModel)]
OTHERS = [name for name in members("models") if name not in EMBEDDERS]
QUICK = {"model": "tgat", "neighbours": 5, "width": 16, "time_encoder": {"name": "linear", "width": 8}}
CLOSE = {"rtol": 0.0, "atol": 2e-5}


def labelled(events: int = 420, share: float = 0.3) -> TemporalGraph:
    """Random events with ties and features, and labels that mean nothing."""
    graph = random_graph(events, 25, edge_width=3)
    drawn = torch.rand(events, generator=torch.Generator().manual_seed(4))
    return replace(graph, labels=(drawn < share).long())


def made(name: str, graph: TemporalGraph, seed: int = 1) -> LinkModel:
    return build(name, graph, seed=seed)


def embedder(name: str, graph: TemporalGraph) -> PairModel:
    model = ready(lambda graph, seed: made(name, graph, seed), graph)
    assert isinstance(model, PairModel)
    return model


def quick(graph: TemporalGraph, seed: int = 1) -> LinkModel:
    return build(**QUICK, graph=graph, seed=seed)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_a_score_is_the_head_of_the_embeddings(name: str) -> None:
    graph = labelled()
    model, query, history = embedder(name, graph), questions(graph), History(graph)
    with torch.no_grad():
        source, destination = model.embeddings(query, history)
        assert torch.equal(model(query, history), model.head(source, destination))
    assert source.shape == destination.shape
    assert len(source) == len(query)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_a_node_is_embedded_the_same_alone_and_in_any_batch(name: str) -> None:
    graph = labelled()
    model, history = embedder(name, graph), History(graph)
    model.observe(graph.events[:100], history)
    query = questions(graph) + questions(graph, 0.9)
    with torch.no_grad():
        together = torch.cat(model.embeddings(query, history), 1)
        apart = [torch.cat(model.embeddings(query[n : n + 1], history), 1) for n in range(0, len(query), 9)]
    torch.testing.assert_close(together[::9], torch.cat(apart), **CLOSE)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_every_source_is_embedded_as_if_it_were_asked_alone_at_its_event(name: str) -> None:
    graph = labelled()
    model, task = embedder(name, graph), NodeClassification(graph, Split.of(graph))
    rows = embed_sources(model, task, accelerator_for("cpu"))
    places = [*range(0, len(graph.events), 40), BLOCK - 1, BLOCK, len(graph.events) - 1]
    torch.testing.assert_close(rows[places], torch.cat([alone(model, graph, place) for place in places]), **CLOSE)


def alone(model: PairModel, graph: TemporalGraph, place: int) -> Tensor:
    """The slow way: a fresh memory that observed the blocks before the event's own, and one question."""
    events, history = graph.events, History(graph)
    model.reset()
    for start in range(0, place // BLOCK * BLOCK, BLOCK):
        model.observe(events[start : start + BLOCK], history)
    with torch.no_grad():
        return model.embeddings(LinkQuery.of(events[place : place + 1]), history)[0]


@pytest.mark.parametrize("name", EMBEDDERS)
def test_nothing_at_or_after_an_event_reaches_its_embedding(name: str) -> None:
    graph = labelled()
    moment = float(graph.events.time[int(0.6 * len(graph.events))])
    early = int((graph.events.time <= moment).sum())
    other = scrambled(graph, math.nextafter(moment, math.inf))
    later = replace(graph, edge_features=graph.edge_features.clone())
    later.edge_features[graph.events.id[graph.events.time >= moment]] += 100.0
    model = embedder(name, graph)
    rows, *changed = (embed_sources(model, whole(g), accelerator_for("cpu")) for g in (graph, other, later))
    for found in changed:
        torch.testing.assert_close(rows[:early], found[:early], **CLOSE)
        assert not torch.allclose(rows[early : len(found)], found[early:])


def whole(graph: TemporalGraph) -> NodeClassification:
    return NodeClassification(graph, Split(float(graph.events.time[150]), float(graph.events.time[300]), ()))


def test_labels_are_targets_and_never_inputs() -> None:
    graph = labelled()
    model = embedder("tgn", graph)
    other = replace(graph, labels=1 - graph.labels)  # type: ignore[operator]
    assert torch.equal(
        embed_sources(model, whole(graph), accelerator_for("cpu")),
        embed_sources(model, whole(other), accelerator_for("cpu")),
    )


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_without_embeddings_is_refused_in_one_sentence(name: str) -> None:
    graph = labelled()
    with pytest.raises(ChronolinkError, match="embeds no nodes, so it cannot classify any; take a model that learns"):
        classify_nodes(build(name, graph), graph)


def test_the_parts_are_cut_by_time_and_hold_every_event_once() -> None:
    graph = labelled()
    split = Split.of(graph)
    task = NodeClassification(graph, split)
    parts = [graph.events[task.part(part)] for part in ("train", "validation", "test")]  # type: ignore[arg-type]
    assert [len(part) for part in parts[1:]] == [len(split.validation(graph.events)), len(split.test(graph.events))]
    assert sum(map(len, parts)) == len(graph.events)
    assert float(parts[0].time.max()) <= split.last_train < float(parts[1].time.min())
    held_out = torch.tensor(split.held_out)
    assert torch.isin(torch.cat([parts[0].source, parts[0].destination]), held_out).any()
    assert len(parts[0]) > len(split.train(graph.events))


def test_a_label_belongs_to_its_event_wherever_its_row_stands() -> None:
    graph = labelled()
    order = torch.randperm(len(graph.events), generator=torch.Generator().manual_seed(1))
    task = whole(replace(graph, events=replace(graph.events, id=order)))
    assert graph.labels is not None
    assert task.state.tolist() == [bool(graph.labels[row]) for row in order.tolist()]


def test_the_auc_is_scikit_learns_and_the_share_of_pairs_in_order() -> None:
    task = whole(labelled())
    state = task.state[task.part("test")]
    scores = torch.randn(len(state), generator=torch.Generator().manual_seed(2)).round(decimals=1)
    found = task.judge("test", scores)
    assert found["auc"] == roc_auc_score(state.numpy(), scores.numpy())
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[state].tolist() for b in scores[~state].tolist()]
    assert found["auc"] == pytest.approx(sum(pairs) / len(pairs))
    assert (found["events"], found["positives"]) == (len(state), int(state.sum()))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (None, "events has no labels, so no node can be classified; name their column by --label"),
        (torch.full((420,), 2), "events has label 2; write 1 for the state to find and 0 for others"),
        ((torch.arange(420) < 100).long(), "none of the 150 events of the validation split has label 1"),
        (
            (torch.arange(420) % 2 == 0).long().index_fill(0, torch.arange(300, 420), 1),
            "none of the 120 events of the test split has label 0",
        ),
    ],
)
def test_labels_that_will_not_do_are_refused_before_anything_is_trained(labels: Tensor | None, words: str) -> None:
    graph = replace(labelled(), labels=labels)
    graph = replace(graph, events=replace(graph.events, time=torch.arange(420.0).double(), id=torch.arange(420)))
    split = Split(149.0, 299.0, ())
    with pytest.raises(ChronolinkError, match=words):
        classify_nodes(quick(graph), graph, split=split)
