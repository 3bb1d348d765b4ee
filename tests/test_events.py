"""Streams are checked, sorted and cut; a digest tells data apart"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from torch import Tensor

from chronolink.errors import ChronolinkError
from chronolink.events import EventStream, TemporalGraph


def columns(events: int = 4) -> dict[str, Tensor]:
    return {
        "source": torch.arange(events),
        "destination": torch.arange(events).flip(0),
        "time": torch.arange(events, dtype=torch.float64),
        "id": torch.arange(events),
    }


def graph() -> TemporalGraph:
    generator = torch.Generator().manual_seed(3)
    return TemporalGraph(
        EventStream(**columns()),
        4,
        torch.randn(4, 2, generator=generator),
        torch.randn(4, 3, generator=generator),
        labels=torch.tensor([0, 1, 0, 1]),
    )


@pytest.mark.parametrize("name", ["source", "destination", "id"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float64, torch.bool])
def test_a_column_of_ids_that_is_not_int64_is_refused(name: str, dtype: torch.dtype) -> None:
    with pytest.raises(ChronolinkError, match=f"column {name} is {dtype}.*takes torch.int64"):
        EventStream(**columns() | {name: torch.zeros(4, dtype=dtype)})


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_time_that_is_not_float64_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(ChronolinkError, match=r"column time is .*takes torch.float64"):
        EventStream(**columns() | {"time": torch.arange(4, dtype=dtype)})


@pytest.mark.parametrize("name", ["source", "destination", "time", "id"])
@pytest.mark.parametrize("length", [0, 3, 5])
def test_a_column_of_another_length_is_refused(name: str, length: int) -> None:
    with pytest.raises(ChronolinkError, match="columns of one length"):
        EventStream(**columns() | {name: columns(length)[name]})


def test_columns_of_two_dimensions_are_refused() -> None:
    with pytest.raises(ChronolinkError, match="columns of one length"):
        EventStream(**{name: column.view(2, 2) for name, column in columns().items()})


@pytest.mark.parametrize("time", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_time_that_is_infinite_or_not_a_number_is_refused(time: float, place: int) -> None:
    given = columns()
    given["time"][place] = time
    with pytest.raises(ChronolinkError, match="infinite or not a number"):
        EventStream(**given)
    with pytest.raises(ChronolinkError, match="infinite or not a number"):
        EventStream.sorted(**given)


def test_a_time_that_decreases_is_refused() -> None:
    with pytest.raises(ChronolinkError, match="times decrease"):
        EventStream(**columns() | {"time": torch.tensor([0.0, 2.0, 1.9999999999999998, 3.0], dtype=torch.float64)})


def test_equal_and_negative_times_are_times_like_any_other() -> None:
    stream = EventStream(**columns() | {"time": torch.tensor([-5.0, -5.0, -1.0, -1.0], dtype=torch.float64)})
    assert stream.time.tolist() == [-5.0, -5.0, -1.0, -1.0]


def test_a_stream_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        EventStream(**columns()).time = torch.zeros(4)  # type: ignore[misc]


def test_sorting_keeps_the_order_of_events_of_equal_time() -> None:
    generator = torch.Generator().manual_seed(1)
    source, destination, time = torch.randint(5, (3, 500), generator=generator).tolist()
    slow = sorted(range(500), key=lambda row: time[row])  # Python's own sort is stable
    stream = EventStream.sorted(source, destination, time)
    assert stream.id.tolist() == slow
    assert stream.source.tolist() == [source[row] for row in slow]
    assert stream.destination.tolist() == [destination[row] for row in slow]
    assert stream.time.tolist() == [float(time[row]) for row in slow]


def test_sorting_takes_the_given_ids_along() -> None:
    assert EventStream.sorted([0, 1, 2], [3, 4, 5], [2.0, 1.0, 3.0], id=[70, 80, 90]).id.tolist() == [80, 70, 90]


def test_sorting_keeps_milliseconds_since_1970_exact() -> None:
    time = [1_600_000_000_001, 1_600_000_000_000, 2**53 - 1]
    assert EventStream.sorted([0, 1, 2], [0, 1, 2], time).time.tolist() == [time[1], time[0], time[2]]


@pytest.mark.parametrize("length", [2, 4])
@pytest.mark.parametrize("name", ["source", "destination", "id"])
def test_sorting_refuses_columns_of_different_lengths(name: str, length: int) -> None:
    given = columns(3) | {name: torch.arange(length)}
    with pytest.raises(ChronolinkError, match="columns of one length"):
        EventStream.sorted(**given)


@pytest.mark.parametrize("chosen", [slice(1, 3), torch.tensor([1, 2]), torch.tensor([False, True, True, False])])
def test_a_cut_keeps_ids_and_all_columns(chosen: slice | Tensor) -> None:
    cut = EventStream(**columns() | {"id": torch.tensor([9, 7, 5, 3])})[chosen]
    assert len(cut) == 2
    assert cut.id.tolist() == [7, 5]
    assert cut.source.tolist() == [1, 2]
    assert cut.destination.tolist() == [2, 1]
    assert cut.time.tolist() == [1.0, 2.0]


def test_a_cut_of_a_cut_keeps_ids() -> None:
    assert EventStream(**columns(10))[2:9][3:5].id.tolist() == [5, 6]


def test_a_cut_that_turns_time_back_is_refused() -> None:
    with pytest.raises(ChronolinkError, match="times decrease"):
        EventStream(**columns())[torch.tensor([2, 1])]


def test_an_empty_cut_is_a_stream() -> None:
    assert len(EventStream(**columns())[:0]) == 0


def test_a_graph_of_events_alone_has_features_of_width_0() -> None:
    events = EventStream.sorted([0, 6], [3, 1], [0.0, 1.0])
    found = TemporalGraph.of(events)
    assert found.num_nodes == 7
    assert found.node_features.shape == (7, 0)
    assert found.edge_features.shape == (2, 0)
    assert TemporalGraph.of(events, num_nodes=10).node_features.shape == (10, 0)


def test_a_graph_cut_to_other_events_keeps_its_features() -> None:
    whole = graph()
    cut = whole.cut(whole.events[1:3])
    assert cut.events.id.tolist() == [1, 2]
    assert cut.edge_features is whole.edge_features
    assert cut.node_features is whole.node_features
    assert cut.labels is whole.labels


def test_equal_data_have_equal_digests() -> None:
    assert graph().digest() == graph().digest()
    assert graph().digest() == graph().to("cpu").digest()
    assert replace(graph(), name="another name").digest() == graph().digest()
    strided = replace(graph(), edge_features=graph().edge_features.t().contiguous().t())
    assert not strided.edge_features.is_contiguous()
    assert strided.digest() == graph().digest()


@pytest.mark.parametrize("name", ["source", "destination", "time", "id"])
@pytest.mark.parametrize("place", [0, 3])
def test_one_changed_entry_of_a_column_changes_the_digest(name: str, place: int) -> None:
    changed = columns()
    changed[name][place] += 1 if place == 3 else -1
    assert replace(graph(), events=EventStream(**changed)).digest() != graph().digest()


def test_the_smallest_change_of_a_time_changes_the_digest() -> None:
    changed = columns()
    changed["time"][2] = torch.nextafter(changed["time"][2], changed["time"][3])
    assert replace(graph(), events=EventStream(**changed)).digest() != graph().digest()


@pytest.mark.parametrize("name", ["node_features", "edge_features", "labels"])
def test_one_changed_feature_or_label_changes_the_digest(name: str) -> None:
    changed = getattr(graph(), name).clone()
    changed[2] += 1
    assert replace(graph(), **{name: changed}).digest() != graph().digest()


def test_other_names_of_the_nodes_change_the_digest() -> None:
    variants = [None, ("a", "b", "c", "d"), ("a", "b", "d", "c"), ("a", "b", "c", "d4"), ("ab", "", "c", "d")]
    assert len({replace(graph(), names=names).digest() for names in variants}) == len(variants)


def test_a_digest_tells_shapes_and_absent_parts_apart() -> None:
    whole = graph()
    assert whole.labels is not None
    variants = [
        whole,
        replace(whole, labels=None),
        replace(whole, num_nodes=5),
        replace(whole, events=whole.events[:3]),
        replace(whole, edge_features=whole.edge_features.reshape(3, 4)),
        replace(whole, edge_features=torch.empty(4, 0)),
        replace(whole, edge_features=torch.empty(5, 0)),
        replace(whole, node_features=whole.edge_features, edge_features=whole.node_features),
    ]
    assert len({variant.digest() for variant in variants}) == len(variants)
