"""GraphMixer against the paper's formulae"""

from __future__ import annotations

import math

import pytest
import torch

from chronolink import ChronolinkError, build
from chronolink.catalogue import members
from chronolink.events import TemporalGraph
from chronolink.history import History
from chronolink.model import GraphShape
from chronolink.models.graphmixer import Graphmixer
from chronolink.query import LinkQuery
from chronolink.time_encoders.fixed_cosine import FixedCosine
from chronolink.time_encoders.linear import Linear
from tests.agreement import agree, dropout_belongs_to_questions
from tests.streams import questions, random_graph, unsettled
from tests.twins import graphmixer as twin


def graphmixer(graph: TemporalGraph, time_encoder: str = "linear", **options: object) -> Graphmixer:
    options = {"neighbours": 6, "width": 8, "time_gap": 9, "dropout": 0.0, **options}
    model = unsettled(build("graphmixer", graph, time_encoder={"name": time_encoder, "width": 6}, **options), graph)
    assert isinstance(model, Graphmixer)
    return model


def agrees(model: Graphmixer, query: LinkQuery, history: History) -> None:
    agree(model, model(query, history), twin.scores(model, query, history))


@pytest.mark.parametrize("time_encoder", members("time_encoders"))
@pytest.mark.parametrize(("node_width", "edge_width"), [(0, 0), (3, 2)])
def test_values_and_gradients_equal_the_paper(time_encoder: str, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    agrees(graphmixer(graph, time_encoder), questions(graph, 10), History(graph))


@pytest.mark.parametrize(("node_width", "edge_width"), [(3, 0), (0, 2)])
def test_either_kind_of_features_alone_equals_the_paper(node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    agrees(graphmixer(graph, "cosine"), questions(graph, 10), History(graph))


@pytest.mark.parametrize(
    "options",
    [
        {"layers": 1, "neighbours": 1},
        {"layers": 3, "neighbours": 40, "time_gap": 1},
        {"slot_expansion": 2.0, "channel_expansion": 0.5, "time_gap": 1000},
    ],
)
def test_other_options_equal_the_paper(options: dict[str, float]) -> None:
    graph = random_graph(node_width=2, dtype=torch.float64)
    agrees(graphmixer(graph, **options), questions(graph, 6), History(graph))


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_last_layer_gives_the_mean_over_its_slots(dropout: float) -> None:
    """Whether the last product comes before the mean or after it, with every dropout and with none."""
    layer = graphmixer(random_graph(), dropout=dropout).train().layers[0]
    rows, key = torch.randn(5, 6, 8, dtype=torch.float64), torch.arange(5)
    torch.testing.assert_close(layer.mean(rows, key), layer(rows, key).mean(1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("time_encoder", ["linear", "fixed_cosine"])
def test_the_padded_twin_of_the_benchmark_computes_the_same(time_encoder: str) -> None:
    graph = random_graph(node_width=3, edge_width=2, dtype=torch.float64)
    history, query, model = History(graph), questions(graph, 10), graphmixer(graph, time_encoder)
    torch.testing.assert_close(model(query, history), twin.PaddedGraphmixer(model, history)(query), rtol=0, atol=1e-10)


def test_a_node_without_a_past_is_a_sequence_of_zeros() -> None:
    graph = random_graph(dtype=torch.float64)
    model = graphmixer(graph)
    tokens = model.tokens(torch.tensor([0, 3]), graph.events.time[[0, 200]], History(graph))
    assert not tokens[0].any()
    assert tokens[1].any(1).all()


def test_having_no_past_is_one_question_whoever_has_none() -> None:
    graph = random_graph(dtype=torch.float64)
    model, history = graphmixer(graph, dropout=0.4).train(), History(graph)
    node, asked = torch.arange(5), []
    link = model.link
    model.link = lambda *given: asked.append(set(given[0].tolist())) or link(*given)  # type: ignore[method-assign,func-returns-value]
    embedding = model.embed(node, graph.events.time[[0, 0, 0, 0, 200]], history)
    assert all(torch.equal(row, embedding[0]) for row in embedding[:4])  # with one mask
    assert not torch.allclose(embedding[4], embedding[0])
    assert asked == [{0, 4}]


def test_the_latest_event_stands_in_the_last_slot() -> None:
    graph = random_graph(dtype=torch.float64)
    history, time = History(graph), graph.events.time[[200]]
    short, long = graphmixer(graph), graphmixer(graph, neighbours=50)
    long.project.load_state_dict(short.project.state_dict())
    long.time_encoder.load_state_dict(short.time_encoder.state_dict())
    few, many = (model.tokens(torch.tensor([3]), time, history)[0] for model in (short, long))
    torch.testing.assert_close(few, many[-6:])


def test_dropout_belongs_to_questions_and_to_the_seed() -> None:
    graph = random_graph(node_width=2, dtype=torch.float64)
    model = graphmixer(graph, dropout=0.4)
    dropout_belongs_to_questions(model, questions(graph, 10), History(graph))


@pytest.mark.parametrize("node_width", [0, 3])
def test_an_answer_has_the_same_bits_in_any_batch(node_width: int) -> None:
    graph = random_graph(node_width=node_width)
    history, query = History(graph), questions(graph, 50)
    model = build("graphmixer", graph, time_encoder="fixed-cosine").eval()
    with torch.no_grad():
        together = model(query, history)
        for size in (1, 7, 50):
            parts = torch.cat([model(query[start : start + size], history) for start in range(0, len(query), size)])
            assert torch.equal(together, parts), size


def test_the_fixed_encoding_is_the_papers_and_learns_nothing() -> None:
    encoder, elapsed = FixedCosine(9).double(), [0.0, 1.0, 86_400.0]
    for row, span in zip(encoder(torch.tensor(elapsed, dtype=torch.float64)), elapsed, strict=True):
        assert row.tolist() == pytest.approx([math.cos(3 ** -(i / 3) * span) for i in range(9)], abs=1e-2)
    assert encoder.frequency.tolist() == pytest.approx([3 ** -(i / 3) for i in range(9)], rel=1e-6)
    assert not list(encoder.parameters())
    assert encoder.affine() is None


def test_what_does_not_fit_is_refused_in_one_sentence() -> None:
    with pytest.raises(ChronolinkError, match="time_gap is 0; it must be 1 or more"):
        build("graphmixer", random_graph(), time_gap=0)


def test_an_affine_encoder_that_keeps_its_weights_equals_the_paper() -> None:
    class Kept(Linear):
        def before_linear(self) -> Linear:
            return self

    graph = random_graph(edge_width=2, dtype=torch.float64)
    model = unsettled(Graphmixer(GraphShape.of(graph), Kept(6), neighbours=6, width=8, dropout=0.0), graph)
    agrees(model, questions(graph, 10), History(graph))
