from __future__ import annotations

import pytest
import torch

from chronolink import ChronolinkError, build
from chronolink.catalogue import members
from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.layers.anonymity import Identities
from chronolink.layers.numbering import numbered
from chronolink.layers.prefixes import Prefixes
from chronolink.layers.walk_attention import BINS, Slots, WalkAttention
from chronolink.layers.walks import draw_walks
from chronolink.models.cawn import Cawn
from chronolink.query import LinkQuery
from chronolink.sampling import SamplingName, sampling_named
from tests.agreement import agree, dropout_belongs_to_questions
from tests.streams import random_graph, unsettled
from tests.twins import cawn as slow
from tests.twins.padded_cawn import PaddedCawn

SAMPLINGS: list[SamplingName] = ["recent", "uniform", "time_interval_aware"]


def cawn(graph: TemporalGraph, time_encoder: str = "linear", **options: object) -> Cawn:
    options = {"neighbours": 5, "length": 2, "width": 12, "heads": 3, "dropout": 0.0, **options}
    model = unsettled(build("cawn", graph, time_encoder={"name": time_encoder, "width": 6}, **options), graph)
    assert isinstance(model, Cawn)
    return model


def questions(graph: TemporalGraph, count: int = 6) -> LinkQuery:
    """Late, early and repeated ones, a node that has no past, and a node asked about itself."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(graph.num_nodes, (2, count), generator=generator)
    time = graph.events.time[torch.randint(len(graph.events), (count,), generator=generator)]
    time[0] = graph.events.time[0] - 1
    ends[1, 1] = ends[0, 1]
    return LinkQuery(ends[0], ends[1], time) + LinkQuery(ends[0], ends[1].flip(0), time)


@pytest.mark.parametrize("time_encoder", members("time_encoders"))
@pytest.mark.parametrize(("node_width", "edge_width"), [(0, 0), (3, 5)])
def test_values_and_gradients_equal_one_walk_at_a_time(time_encoder: str, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    history, query = History(graph), questions(graph)
    model = cawn(graph, time_encoder)
    agree(model, model(query, history), slow.scores(model, query, history))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("length", [1, 3])
def test_any_length_and_sampling_equals_one_walk_at_a_time(length: int, sampling: SamplingName) -> None:
    graph = random_graph(edge_width=2, dtype=torch.float64)
    history, query = History(graph), questions(graph)
    model = cawn(graph, length=length, sampling=sampling, neighbours=7)
    agree(model, model(query, history), slow.scores(model, query, history))


@pytest.mark.parametrize(("length", "node_width", "edge_width"), [(1, 0, 0), (2, 3, 5), (3, 12, 12)])
def test_values_and_gradients_equal_the_padded_way(length: int, node_width: int, edge_width: int) -> None:
    graph = random_graph(node_width=node_width, edge_width=edge_width, dtype=torch.float64)
    history, query = History(graph), questions(graph, 40)
    model = cawn(graph, "cosine", length=length)
    agree(model, model(query, history), PaddedCawn(model, history)(query))


def test_equal_walks_are_one_slot_and_say_the_same() -> None:
    layer = WalkAttention(12, 3, 0.1).double().eval()
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(6, 12, dtype=torch.float64, generator=generator, requires_grad=True)
    end = torch.randint(6, (8, 10), generator=generator)
    end[0] = 3
    assert len(Slots.of(end, end).walk) < end.numel()
    found, expected = layer(rows, end, end), layer(rows[end.flatten()], torch.arange(80).view(8, 10), end)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    weight = torch.randn(found.shape, dtype=torch.float64, generator=generator)
    gradients = [torch.autograd.grad((value * weight).sum(), rows)[0] for value in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


def test_a_slot_is_the_first_of_equal_walks_and_small_groups_come_first() -> None:
    end, key = torch.tensor([[5, 2, 5, 9], [2, 2, 2, 2]]), torch.arange(8).view(2, 4)
    found = Slots.of(end, key)
    assert found.group.tolist() == [1, 0, 0, 0]
    assert found.walk.tolist() == [2, 5, 2, 9]
    assert found.count.tolist() == [4, 2, 1, 1]
    assert found.key.tolist() == [4, 0, 1, 3]


@pytest.mark.parametrize("groups", [1, 2, 7, 23])
def test_groups_of_like_size_are_laid_side_by_side(groups: int) -> None:
    end = torch.randint(9, (groups, 12), generator=torch.Generator().manual_seed(groups))
    end[-1] = 4
    found = Slots.of(end, end)
    sizes = [packing.filled.sum(1).tolist() for packing in found.packings]
    assert sum(map(sum, sizes)) == len(found.walk)
    assert [size for part in sizes for size in part] == sorted(len(set(row)) for row in end.tolist())
    assert all(packing.filled.shape[1] == max(part) for packing, part in zip(found.packings, sizes, strict=True))
    assert len(sizes) == min(groups, BINS)


def test_dropout_takes_the_same_from_equal_walks_and_other_things_from_others() -> None:
    layer = WalkAttention(12, 3, 0.2).double()
    rows = torch.randn(4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    alike, key = torch.zeros(1, 50, dtype=torch.int64), torch.arange(50).unsqueeze(0)
    torch.testing.assert_close(layer(rows, alike, key), layer(rows, alike[:, :1], key[:, :1]))
    own = layer.feed_forward(rows[alike[0]], rows[alike[0]].clone(), key[0])
    assert len(own.unique(dim=0)) == 50
    layer.eval()
    torch.testing.assert_close(layer(rows, alike, key), layer(rows, alike[:, :1], key[:, :1]))


def test_dropout_before_relu_equals_dropout_after_it_in_values_and_gradients() -> None:
    layer, generator = WalkAttention(12, 3, 0.3).double(), torch.Generator().manual_seed(1)
    rows, mixed = torch.randn(2, 20, 12, dtype=torch.float64, generator=generator).requires_grad_()
    key, parameters = torch.arange(20), [*layer.wide.parameters(), *layer.narrow.parameters()]
    found = layer.feed_forward(rows, mixed.clone(), key)
    after = layer.attention_norm(rows + layer.on_mixed(mixed, key))
    wide = layer.on_wide(torch.relu(layer.wide(after)), key)
    expected = layer.norm(after + layer.on_narrow(layer.narrow(wide), key))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    gradients = [
        torch.autograd.grad(value.square().sum() + value[3].sum(), [rows, mixed, *parameters], retain_graph=True)
        for value in (found, expected)
    ]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


def walk_questions(graph: TemporalGraph) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    place = torch.randint(len(graph.events), (60,), generator=generator)
    return torch.randint(graph.num_nodes, (60,), generator=generator), graph.events.time[place]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_hop_is_an_event_of_the_node_reached_strictly_before_the_last(sampling: SamplingName) -> None:
    graph = random_graph()
    node, time = walk_questions(graph)
    walks = draw_walks(History(graph), node, time, 6, 3, sampling_named(sampling))
    ends = {
        row: ({source, destination}, when)
        for row, source, destination, when in zip(
            graph.events.id.tolist(),
            graph.events.source.tolist(),
            graph.events.destination.tolist(),
            graph.events.time.tolist(),
            strict=True,
        )
    }
    hops = 0
    for asked in range(len(node)):
        for walk in range(6):
            here, now = int(node[asked]), float(time[asked])
            for column in (2, 1, 0):
                if not bool(walks.valid[asked, walk, column]):
                    assert not bool(walks.valid[asked, walk, :column].any())
                    break
                pair, when = ends[int(walks.event[asked, walk, column])]
                assert pair == {here, int(walks.node[asked, walk, column])}
                assert when == float(walks.time[asked, walk, column])
                assert when < now
                assert float(walks.elapsed[asked, walk, column]) == float(time[asked]) - when
                here, now, hops = int(walks.node[asked, walk, column]), when, hops + 1
    assert hops > 500


def test_a_walk_ends_only_where_nothing_earlier_is_left() -> None:
    graph = random_graph()
    node, time = walk_questions(graph)
    history = History(graph)
    walks = draw_walks(history, node, time, 6, 2, sampling_named("uniform"))
    could = history.before(walks.node[:, :, 1], walks.time[:, :, 1], 1).valid.squeeze(-1) & walks.valid[:, :, 1]
    assert torch.equal(walks.valid[:, :, 0], could)


def test_later_hops_are_drawn_for_each_walk_alone_and_fairly() -> None:
    """One event leads from 0 to 1, which has met ten others before: equally often each."""
    stream = EventStream.sorted([1] * 10 + [0], [*range(2, 12), 1], range(11))
    graph = TemporalGraph.of(stream)
    asked = torch.tensor([0]), torch.tensor([99.0], dtype=torch.float64)
    walks = draw_walks(History(graph), *asked, 4000, 2, sampling_named("uniform"))
    assert bool((walks.node[0, :, 1] == 1).all())
    counts = torch.bincount(walks.node[0, :, 0], minlength=12)[2:]
    assert int(counts.min()) > 320
    assert int(counts.max()) < 480


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_walks_are_the_same_alone_and_in_any_batch(sampling: SamplingName) -> None:
    graph = random_graph()
    node, time = walk_questions(graph)
    together = draw_walks(History(graph), node, time, 6, 3, sampling_named(sampling))
    for place in range(0, len(node), 7):
        one = slice(place, place + 1)
        alone = draw_walks(History(graph), node[one], time[one], 6, 3, sampling_named(sampling))
        for column in ("node", "event", "time", "elapsed", "valid"):
            assert torch.equal(getattr(together, column)[one], getattr(alone, column))


def test_counts_equal_a_loop() -> None:
    graph = random_graph(nodes=6, dtype=torch.float64)
    history, query, model = History(graph), questions(graph), cawn(graph)
    root, time = torch.cat([query.source, query.destination]), query.time.repeat(2)
    walks = draw_walks(history, root, time, model.neighbours, model.length, model.sampling)
    found = Identities.of(root, walks, graph.num_nodes)
    for end in range(len(root)):
        asked = end % len(query)
        nodes = int(query.source[asked]), int(query.destination[asked])
        pair = [slow.drawn(model, node, query.time[asked], history) for node in nodes]
        for number, walk in enumerate(pair[end // len(query)]):
            labels = [int(found.root[end]), *found.hop[end, number].flip(0).tolist()]
            for step, label in zip(walk, labels, strict=False):
                expected = sorted(slow.shares(step.node, side, 3) for side in pair)
                assert sorted(found.share[found.pair[label]].tolist()) == expected


def test_equal_beginnings_are_one_row_and_different_ones_are_not() -> None:
    graph = random_graph(nodes=12)
    query = questions(graph, 60)
    root, time = torch.cat([query.source, query.destination]), query.time.repeat(2)
    walks = draw_walks(History(graph), root, time, 8, 2, sampling_named("time_interval_aware"))
    identities = Identities.of(root, walks, graph.num_nodes)
    asked, _ = numbered(root, time)
    found = Prefixes.of(asked, root, torch.zeros(()), walks, walks.elapsed, identities)
    rows: dict[int, tuple[object, ...]] = {}
    for end in range(len(root)):
        for walk in range(8):
            steps = [(int(asked[end]), int(identities.root[end]))]
            for column in (1, 0):
                if bool(walks.valid[end, walk, column]):
                    steps.append((int(walks.event[end, walk, column]), int(identities.hop[end, walk, column])))
            assert rows.setdefault(int(found.end[end, walk]), tuple(steps)) == tuple(steps)
    assert len(set(rows.values())) == len(rows)
    assert len(rows) < found.end.numel()


def test_a_node_without_a_past_has_walks_that_are_itself_alone() -> None:
    graph = random_graph(dtype=torch.float64)
    model, time = cawn(graph, length=1), graph.events.time[:1] - 1
    query = LinkQuery(torch.tensor([0]), torch.tensor([1]), time)
    assert [len(walk) for walk in slow.drawn(model, 0, time[0], History(graph))] == [1] * 5
    found = model(query, History(graph))
    torch.testing.assert_close(found, slow.scores(model, query, History(graph)))
    other = LinkQuery(torch.tensor([2]), torch.tensor([3]), time)
    torch.testing.assert_close(found, model(other, History(graph)))  # nobody is anybody yet


def test_names_do_not_matter() -> None:
    graph = random_graph(dtype=torch.float64)
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(5))
    stream = graph.events
    renamed = graph.cut(EventStream(order[stream.source], order[stream.destination], stream.time, stream.id))
    model, query = cawn(graph, sampling="recent", length=1), questions(graph)
    asked = LinkQuery(order[query.source], order[query.destination], query.time)
    torch.testing.assert_close(model(query, History(graph)), model(asked, History(renamed)))


def test_dropout_belongs_to_questions_and_to_the_seed() -> None:
    graph = random_graph(dtype=torch.float64)
    model = cawn(graph, dropout=0.3)
    dropout_belongs_to_questions(model, questions(graph), History(graph))


def test_what_cannot_be_is_refused_in_one_sentence() -> None:
    for option in ("heads", "neighbours", "length", "width"):
        with pytest.raises(ChronolinkError, match=f"{option} is 0; it must be 1 or more"):
            build("cawn", random_graph(), **{option: 0})
