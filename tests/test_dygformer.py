"""The family over first-hop histories against its twin"""

from __future__ import annotations

import pytest
import torch

from chronolink import ChronolinkError, build
from chronolink.catalogue import members
from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.layers.sequences import Sequences
from chronolink.models._first_hop import FirstHop
from chronolink.query import LinkQuery
from tests.agreement import agree, dropout_belongs_to_questions
from tests.streams import random_graph, unsettled
from tests.twins import dygformer as twin
from tests.twins.padded_dygformer import PaddedFirstHop

FAMILY = ["dygformer", "dygformer_separate", "dygdecoder"]


def first_hop(model: str, graph: TemporalGraph, time_encoder: str = "linear", **options: object) -> FirstHop:
    options = {"length": 8, "patch": 1, "channel": 4, "dropout": 0.0, "width": 6, **options}
    built = unsettled(build(model, graph, time_encoder={"name": time_encoder, "width": 6}, **options), graph)
    assert isinstance(built, FirstHop)
    return built


def questions(graph: TemporalGraph, count: int = 12) -> LinkQuery:
    """Early and late, a pair of nodes without a past, and a self-loop."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(graph.num_nodes, (2, count), generator=generator)
    time = graph.events.time[torch.randint(len(graph.events), (count,), generator=generator)]
    time[0] = graph.events.time[0] - 1
    ends[1, 1] = ends[0, 1]
    return LinkQuery(ends[0], ends[1], time)


def agrees(model: FirstHop, query: LinkQuery, history: History) -> None:
    agree(model, model(query, history), twin.scores(model, query, history))


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize("time_encoder", members("time_encoders"))
def test_values_and_gradients_equal_the_appendix(model: str, time_encoder: str) -> None:
    graph = random_graph(node_width=3, edge_width=2, dtype=torch.float64)
    agrees(first_hop(model, graph, time_encoder), questions(graph), History(graph))


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize(("length", "patch"), [(2, 1), (3, 2), (8, 3), (17, 4), (16, 16), (12, 64), (2048, 64)])
def test_any_length_and_patch_equals_the_appendix(model: str, length: int, patch: int) -> None:
    graph = random_graph(dtype=torch.float64)
    for encoder in ("linear", "cosine"):
        agrees(first_hop(model, graph, encoder, length=length, patch=patch), questions(graph), History(graph))


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize(("layers", "time_channel"), [(1, 6), (3, 2)])
def test_other_depths_and_time_channels_equal_the_appendix(model: str, layers: int, time_channel: int) -> None:
    graph = random_graph(edge_width=2, dtype=torch.float64)
    agrees(first_hop(model, graph, layers=layers, time_channel=time_channel), questions(graph), History(graph))


def test_co_occurrence_counts_equal_the_papers_example() -> None:
    """i met u, v, w and j met v, u, v, v before (i, j) is asked for."""
    i, j, u, v, w = range(5)
    events = [(i, u), (i, v), (i, w), (j, v), (j, u), (j, v), (j, v)]
    stream = EventStream.sorted([a for a, _ in events], [b for _, b in events], list(range(len(events))))
    graph = TemporalGraph.of(stream)
    query = LinkQuery(torch.tensor([i]), torch.tensor([j]), torch.tensor([10.0], dtype=torch.float64))
    encoder = first_hop("dygformer", graph).time_encoder
    found = Sequences.of(query, History(graph), encoder, length=8, patch=1)
    first, second = found.sequence == 0, found.sequence == 1
    assert torch.cat([found.own, found.other], 1)[first].tolist() == [[1, 1], [1, 3], [1, 0], [1, 0]]
    assert torch.cat([found.other, found.own], 1)[second].tolist() == [[1, 3], [1, 1], [1, 3], [1, 3], [0, 1]]
    assert twin.counts([u, v, w, j], [v, u, v, v, i]) == (
        [[1, 1], [1, 3], [1, 0], [1, 0]],
        [[1, 3], [1, 1], [1, 3], [1, 3], [0, 1]],
    )


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize(("length", "patch"), [(8, 1), (17, 4)])
def test_the_padded_twin_of_the_benchmark_computes_the_same(model: str, length: int, patch: int) -> None:
    graph = random_graph(node_width=3, edge_width=2, dtype=torch.float64)
    history, query = History(graph), questions(graph)
    built = first_hop(model, graph, "cosine", length=length, patch=patch)
    torch.testing.assert_close(built(query, history), PaddedFirstHop(built, history)(query), rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", FAMILY)
def test_the_longest_history_of_a_batch_changes_no_other_score(model: str) -> None:
    graph = random_graph(dtype=torch.float64)
    history, query = History(graph), questions(graph)
    built = first_hop(model, graph, length=40, patch=3)
    early = query[query.time.argsort()]
    together = built(early, history)
    for stop in (1, 2, 5):
        torch.testing.assert_close(built(early[:stop], history), together[:stop], rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", FAMILY)
def test_dropout_belongs_to_questions_and_to_the_seed(model: str) -> None:
    graph = random_graph(dtype=torch.float64)
    dropout_belongs_to_questions(first_hop(model, graph, dropout=0.4), questions(graph), History(graph))


@pytest.mark.parametrize("model", FAMILY)
def test_attention_can_be_read_by_a_hook(model: str) -> None:
    graph = random_graph(dtype=torch.float64)
    built, seen = first_hop(model, graph), []
    for layer in built.layers:
        layer.attention.register_forward_hook(lambda _module, _inputs, weights: seen.append(weights))
    built(questions(graph), History(graph))
    assert len(seen) == 2
    for weights in seen:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))


def test_what_does_not_fit_is_refused_in_one_sentence() -> None:
    graph = random_graph()
    with pytest.raises(ChronolinkError, match="length is 1; a sequence holds"):
        build("dygformer", graph, length=1)
    with pytest.raises(ChronolinkError, match="200 channels cannot be shared by 3 heads"):
        build("dygdecoder", graph, heads=3)
