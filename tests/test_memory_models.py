from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from chronolink import ChronolinkError, build
from chronolink.catalogue import members
from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.layers.node_memory import Latest
from chronolink.models._memory import MemoryModel
from chronolink.models.tgn import Tgn
from chronolink.query import LinkQuery
from tests.agreement import agree, dropout_belongs_to_questions
from tests.streams import random_graph, unsettled
from tests.twins.memory import OneByOne
from tests.twins.padded_tgn import PaddedTgn

FAMILY = ("tgn", "jodie", "dyrep")
ATTENTIVE = ("tgn", "dyrep")
COLUMNS = ("source", "destination", "time", "id")


def made(name: str, graph: TemporalGraph, time_encoder: str = "linear", **options: object) -> MemoryModel:
    options = {"width": 12, "dropout": 0.0, **({"neighbours": 4} if name in ATTENTIVE else {}), **options}
    model = unsettled(build(name, graph, time_encoder={"name": time_encoder, "width": 6}, **options), graph)
    assert isinstance(model, MemoryModel)
    return model


def observed(model: MemoryModel | OneByOne, graph: TemporalGraph, until: int = 200, size: int = 32) -> None:
    """In batches from the 104th event on; many of the last two batches are of one time."""
    for start in range(104, until, size):
        batch = graph.events[start : min(start + size, until)]
        model.observe(batch) if isinstance(model, OneByOne) else model.observe(batch, History(graph))


def questions(graph: TemporalGraph, since: int = 200, count: int = 12) -> LinkQuery:
    """At the time of the last observed event, right after and later; repeated ones among them."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(graph.num_nodes, (2, count), generator=generator)
    time = graph.events.time[torch.randint(since - 1, len(graph.events), (count,), generator=generator)]
    time[:4] = graph.events.time[since - 1]
    time[4:6] = graph.events.time[since - 8]
    return LinkQuery(ends[0], ends[1], time) + LinkQuery(ends[0], ends[1].flip(0), time)


def agrees(model: MemoryModel, graph: TemporalGraph, count: int = 8) -> None:
    """Memory, values and gradients of model and twin, to 1e-10."""
    history, query = History(graph), questions(graph, count=count)
    twin = OneByOne(model, history)
    observed(model, graph)
    observed(twin, graph)
    for node, memory in twin.memory.items():
        torch.testing.assert_close(model.memory.state[node], memory, rtol=0, atol=1e-10)
    agree(model, model(query, history), twin(query))


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("time_encoder", members("time_encoders"))
@pytest.mark.parametrize(("node_width", "edge_width"), [(0, 0), (3, 5)])
def test_values_and_gradients_equal_the_formulae(
    name: str, time_encoder: str, node_width: int, edge_width: int
) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    agrees(made(name, graph, time_encoder), graph)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize(("node_width", "edge_width"), [(12, 0), (0, 12)])
def test_features_of_either_kind_alone_equal_the_formulae(name: str, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    agrees(made(name, graph), graph)


@pytest.mark.parametrize("name", ATTENTIVE)
@pytest.mark.parametrize("sampling", ["uniform", "time_interval_aware"])
def test_any_sampling_equals_the_formulae(name: str, sampling: str) -> None:
    graph = random_graph(edge_width=2, dtype=torch.float64)
    agrees(made(name, graph, sampling=sampling), graph)


@pytest.mark.parametrize("options", [{"layers": 2}, {"layers": 3, "neighbours": 1}, {"heads": 3}])
def test_any_number_of_layers_and_heads_equals_the_formulae(options: dict[str, int]) -> None:
    graph = random_graph(node_width=2, dtype=torch.float64)
    agrees(made("tgn", graph, **options), graph, count=6)


@pytest.mark.parametrize("time_encoder", ["linear", "cosine"])
@pytest.mark.parametrize(("node_width", "edge_width"), [(0, 0), (3, 5)])
def test_the_usual_padded_way_gives_the_same_answers(time_encoder: str, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    model, history, query = made("tgn", graph, time_encoder), History(graph), questions(graph)
    assert isinstance(model, Tgn)
    observed(model, graph)
    torch.testing.assert_close(model(query, history), PaddedTgn(model, history)(query), rtol=0, atol=1e-10)


def test_of_several_events_of_a_node_the_latest_is_kept() -> None:
    latest = Latest.of(EventStream.sorted([3, 1, 3, 7], [1, 3, 2, 7], [1.0, 2.0, 2.0, 2.0], [10, 11, 12, 13]))
    assert latest.node.tolist() == [1, 2, 3, 7]
    assert latest.other.tolist() == [3, 3, 2, 7]
    assert latest.event.tolist() == [11, 12, 12, 13]
    assert latest.time.tolist() == [2.0, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("name", FAMILY)
def test_observing_nothing_changes_nothing(name: str) -> None:
    graph = random_graph()
    model = build(name, graph)
    observed(model, graph)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model.observe(graph.events[:0], History(graph))
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


@pytest.mark.parametrize("name", FAMILY)
def test_an_event_is_not_seen_at_its_own_time_even_if_it_was_observed(name: str) -> None:
    """And so it is after one more of that time was, in a batch of its own."""
    graph = random_graph(edge_width=2, dtype=torch.float64)
    moment = float(graph.events.time[199])
    tied = EventStream.sorted([0, 1, 0], [1, 2, 3], [moment] * 3, [200, 201, 202])
    past = graph.events[graph.events.time < moment]
    late = graph.cut(EventStream.sorted(*(torch.cat([getattr(past, c), getattr(tied, c)]) for c in COLUMNS)))
    model, history = made(name, late), History(late)
    observed(model, late, until=len(past))
    nodes = torch.arange(5)
    at, after = (LinkQuery(nodes, nodes.roll(1), torch.full((5,), moment + s, dtype=torch.float64)) for s in (0, 1))
    before = model(at, history)
    for place in range(3):
        model.observe(tied[place : place + 1], history)
        assert torch.equal(model(at, history), before)
    unaware = made(name, late)
    observed(unaware, late, until=len(past))
    assert not torch.allclose(model(after, history), unaware(after, history))


@pytest.mark.parametrize("name", FAMILY)
def test_what_was_observed_in_many_batches_has_no_origin_of_time(name: str) -> None:
    graph, found = random_graph(edge_width=2, dtype=torch.float64), []
    for shift in (0.0, -1.6e9):
        later = replace(graph, events=replace(graph.events, time=graph.events.time + shift))
        model, query = made(name, later), questions(graph)
        observed(model, later)
        found.append(model(LinkQuery(query.source, query.destination, query.time + shift), History(later)))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", FAMILY)
def test_the_memory_decides_the_answer_and_learns_from_what_waits_alone(name: str) -> None:
    graph = random_graph(dtype=torch.float64)
    model, history, query = made(name, graph), History(graph), questions(graph)
    assert torch.autograd.grad(model(query, history).sum(), model.cell.weight_ih, allow_unused=True)[0] is None
    before = model(query, history)
    observed(model, graph)
    assert not torch.allclose(model(query, history), before)
    assert torch.autograd.grad(model(query, history).sum(), model.cell.weight_ih)[0].abs().sum() > 0
    assert not model.memory.state.requires_grad


@pytest.mark.parametrize("name", FAMILY)
def test_dropout_belongs_to_questions_and_to_the_seed(name: str) -> None:
    graph = random_graph(dtype=torch.float64)
    model = made(name, graph, dropout=0.3)
    observed(model, graph)
    dropout_belongs_to_questions(model, questions(graph), History(graph))


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("time_encoder", ["linear", "cosine"])
def test_an_answer_has_the_same_bits_in_any_batch(name: str, time_encoder: str) -> None:
    graph = random_graph(node_width=3)
    history, query = History(graph), questions(graph, count=60)
    model = build(name, graph, time_encoder=time_encoder).eval()
    observed(model, graph)
    with torch.no_grad():
        together = model(query, history)
        for size in (1, 7, 50):
            starts = range(0, len(query), size)[:12]
            parts = torch.cat([model(query[start : start + size], history) for start in starts])
            assert torch.equal(together[: len(parts)], parts), size


@pytest.mark.parametrize("name", FAMILY)
def test_a_graph_of_another_size_is_refused_in_one_sentence(name: str) -> None:
    model, graph = build(name, random_graph(nodes=10)), random_graph(nodes=20)
    with pytest.raises(ChronolinkError, match="the memory holds 10 nodes, the graph 20"):
        model(questions(graph), History(graph))
    with pytest.raises(ChronolinkError, match="the memory holds 10 nodes, the graph 20"):
        model.observe(graph.events, History(graph))


@pytest.mark.parametrize("name", ATTENTIVE)
def test_what_does_not_fit_is_refused_in_one_sentence(name: str) -> None:
    graph = random_graph(node_width=5)
    with pytest.raises(ChronolinkError, match="the 5 node features do not fit a width of 4"):
        build(name, graph, width=4)
    with pytest.raises(ChronolinkError, match="cannot be shared by 3 heads"):
        build(name, graph, heads=3)
    with pytest.raises(ChronolinkError, match="width is 0"):
        build(name, random_graph(), width=0)
