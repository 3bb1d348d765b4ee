from __future__ import annotations

import pytest
import torch

from chronolink import ChronolinkError, build
from chronolink.catalogue import members
from chronolink.events import TemporalGraph
from chronolink.history import History
from chronolink.models.tgat import Tgat
from chronolink.query import LinkQuery
from tests.agreement import agree, dropout_belongs_to_questions
from tests.streams import random_graph, unsettled
from tests.twins.tgat import PaddedTgat


def tgat(graph: TemporalGraph, time_encoder: str = "linear", **options: object) -> Tgat:
    options = {"neighbours": 4, "width": 12, "dropout": 0.0, **options}
    model = unsettled(build("tgat", graph, time_encoder={"name": time_encoder, "width": 6}, **options), graph)
    assert isinstance(model, Tgat)
    return model


def questions(graph: TemporalGraph, count: int = 40) -> LinkQuery:
    """Late, early and repeated ones, and a node that has no past."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(graph.num_nodes, (2, count), generator=generator)
    time = graph.events.time[torch.randint(len(graph.events), (count,), generator=generator)]
    time[0] = graph.events.time[0] - 1
    return LinkQuery(ends[0], ends[1], time) + LinkQuery(ends[0], ends[1].flip(0), time)


@pytest.mark.parametrize("time_encoder", members("time_encoders"))
@pytest.mark.parametrize(("node_width", "edge_width"), [(0, 0), (3, 0), (0, 5), (3, 5), (12, 12)])
def test_values_and_gradients_equal_the_appendix(time_encoder: str, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    history, query = History(graph), questions(graph)
    model = tgat(graph, time_encoder)
    agree(model, model(query, history), PaddedTgat(model, history)(query))


@pytest.mark.parametrize("layers", [1, 3])
def test_any_number_of_layers_equals_the_appendix(layers: int) -> None:
    graph = random_graph(node_width=2, dtype=torch.float64)
    history, query = History(graph), questions(graph)
    model = tgat(graph, layers=layers)
    torch.testing.assert_close(model(query, history), PaddedTgat(model, history)(query), rtol=0, atol=1e-10)


@pytest.mark.parametrize("sampling", ["uniform", "time_interval_aware"])
def test_any_sampling_equals_the_appendix(sampling: str) -> None:
    graph = random_graph(dtype=torch.float64)
    history, query = History(graph), questions(graph)
    model = tgat(graph, sampling=sampling)
    torch.testing.assert_close(model(query, history), PaddedTgat(model, history)(query), rtol=0, atol=1e-10)


def test_a_node_without_a_past_attends_to_nothing() -> None:
    graph = random_graph(dtype=torch.float64)
    model, time = tgat(graph), graph.events.time[:1] - 1
    layer = model.layers[0]
    embedding = model._embed(torch.tensor([0]), time, History(graph), 1)
    now = model.time_encoder.now()
    alone = layer.attention.norm(layer.attention.out.bias + torch.cat([now.new_zeros(model.width), now]))
    torch.testing.assert_close(embedding[0], layer.out(torch.relu(layer.hidden(alone))))


def test_dropout_belongs_to_questions_and_to_the_seed() -> None:
    graph = random_graph(dtype=torch.float64)
    model = tgat(graph, dropout=0.3)
    dropout_belongs_to_questions(model, questions(graph), History(graph))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("time_encoder", "node_width"), [("linear", 0), ("cosine", 3)])
def test_an_answer_has_the_same_bits_in_any_batch(time_encoder: str, node_width: int, threads: int) -> None:
    torch.set_num_threads(threads)
    graph = random_graph(node_width=node_width)
    history, query = History(graph), questions(graph, 100)
    model = build("tgat", graph, time_encoder=time_encoder).eval()
    with torch.no_grad():
        together = model(query, history)
        for size in (1, 7, 13, 50):
            starts = range(0, len(query), size)[:12]
            parts = torch.cat([model(query[start : start + size], history) for start in starts])
            assert torch.equal(together[: len(parts)], parts), size
    torch.set_num_threads(1)


def test_what_does_not_fit_is_refused_in_one_sentence() -> None:
    graph = random_graph(node_width=5)
    with pytest.raises(ChronolinkError, match="the 5 node features do not fit a width of 4"):
        build("tgat", graph, width=4)
    with pytest.raises(ChronolinkError, match="cannot be shared by 3 heads"):
        build("tgat", graph, heads=3)
