"""TCL against its formulae"""

from __future__ import annotations

import pytest
import torch

from chronolink import ChronolinkError, build
from chronolink.catalogue import members
from chronolink.events import TemporalGraph
from chronolink.history import History
from chronolink.model import GraphShape
from chronolink.models.tcl import Tcl
from chronolink.query import LinkQuery
from chronolink.time_encoders.linear import Linear
from tests.agreement import agree, dropout_belongs_to_questions
from tests.streams import questions, random_graph, unsettled
from tests.twins import tcl as twin


def tcl(graph: TemporalGraph, time_encoder: str = "linear", **options: object) -> Tcl:
    options = {"neighbours": 5, "width": 8, "dropout": 0.0, **options}
    model = unsettled(build("tcl", graph, time_encoder={"name": time_encoder, "width": 6}, **options), graph)
    assert isinstance(model, Tcl)
    return model


def agrees(model: Tcl, query: LinkQuery, history: History) -> None:
    agree(model, model(query, history), twin.scores(model, query, history))


@pytest.mark.parametrize("time_encoder", members("time_encoders"))
@pytest.mark.parametrize(("node_width", "edge_width"), [(0, 0), (3, 2)])
def test_values_and_gradients_equal_the_formulae(time_encoder: str, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    agrees(tcl(graph, time_encoder), questions(graph), History(graph))


@pytest.mark.parametrize(("node_width", "edge_width"), [(3, 0), (0, 2), (30, 30)])
def test_any_features_equal_the_formulae(node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    agrees(tcl(graph, "cosine"), questions(graph), History(graph))


@pytest.mark.parametrize(
    "options",
    [
        {"layers": 1, "neighbours": 1, "heads": 1},
        {"layers": 3, "heads": 4},
        {"width": 16, "neighbours": 40},
        {"width": 32, "neighbours": 4},
    ],
)
def test_other_options_equal_the_formulae(options: dict[str, int]) -> None:
    graph = random_graph(dtype=torch.float64)
    agrees(tcl(graph, **options), questions(graph), History(graph))


@pytest.mark.parametrize("time_encoder", ["linear", "position"])
def test_the_padded_twin_of_the_benchmark_computes_the_same(time_encoder: str) -> None:
    graph = random_graph(node_width=3, edge_width=2, dtype=torch.float64)
    history, query, model = History(graph), questions(graph), tcl(graph, time_encoder)
    torch.testing.assert_close(model(query, history), twin.PaddedTcl(model, history)(query), rtol=0, atol=1e-10)


def test_the_longest_history_of_a_batch_changes_no_other_score() -> None:
    graph = random_graph(dtype=torch.float64)
    history, query, model = History(graph), questions(graph), tcl(graph, neighbours=40)
    early = query[query.time.argsort()]
    together = model(early, history)
    for stop in (1, 2, 5):
        torch.testing.assert_close(model(early[:stop], history), together[:stop], rtol=0, atol=1e-12)


def test_a_node_is_embedded_in_the_light_of_its_partner() -> None:
    graph = random_graph(dtype=torch.float64)
    history, model, seen = History(graph), tcl(graph), []
    model.out.register_forward_hook(lambda _module, _given, found: seen.append(found))
    ends, time = torch.tensor([[3, 3], [4, 5]]), graph.events.time[[250, 250]]
    model(LinkQuery(ends[0], ends[1], time), history)
    assert not torch.allclose(seen[0][0], seen[0][1])


def test_the_last_row_of_a_layer_can_be_had_alone() -> None:
    graph = random_graph(dtype=torch.float64)
    model = tcl(graph)
    given = model.rows(torch.arange(20), graph.events.time[280].expand(20).clone(), History(graph))
    layer, rows, last = model.layers[0], given.tokens.rows(), torch.arange(20)
    whole = layer(rows, given.packing, given.key)
    torch.testing.assert_close(layer.last(rows, given.packing, given.key, last), whole[:20], rtol=0, atol=1e-12)


def test_dropout_belongs_to_questions_and_to_the_seed() -> None:
    graph = random_graph(node_width=2, dtype=torch.float64)
    model = tcl(graph, dropout=0.4)
    dropout_belongs_to_questions(model, questions(graph), History(graph))
    model(questions(graph), History(graph)).sum().backward()


def test_attention_can_be_read_by_a_hook() -> None:
    graph = random_graph(dtype=torch.float64)
    model, seen = tcl(graph), []
    for layer in model.layers:
        layer.attention.register_forward_hook(lambda _module, _given, found: seen.append(found))
    model(questions(graph), History(graph))
    assert len(seen) == 3
    for weights in seen:
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))


def test_what_does_not_fit_is_refused_in_one_sentence() -> None:
    with pytest.raises(ChronolinkError, match="a width of 172 cannot be shared by 3 heads"):
        build("tcl", random_graph(), heads=3)


def test_an_affine_encoder_that_keeps_its_weights_equals_the_formulae() -> None:
    class Kept(Linear):
        def before_linear(self) -> Linear:
            return self

    graph = random_graph(edge_width=2, dtype=torch.float64)
    model = unsettled(Tcl(GraphShape.of(graph), Kept(6), neighbours=5, width=8, dropout=0.0), graph)
    agrees(model, questions(graph), History(graph))
