"""The numbers of describe, against plain loops"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from chronolink.analysis.statistics import describe, waiting_times, waits_by_part
from chronolink.dataset import load
from chronolink.events import EventStream, TemporalGraph


def slow_waits(stream: EventStream) -> list[list[float]]:
    last: dict[int, float] = {}
    waits = []
    columns = (stream.source.tolist(), stream.destination.tolist(), stream.time.tolist())
    for source, destination, time in zip(*columns, strict=True):
        waits.append([time - last.get(end, math.nan) for end in (source, destination)])
        last[source] = last[destination] = time
    return waits


def random_stream(seed: int) -> EventStream:
    """Few nodes and few times, so that ties and events from a node to itself abound."""
    draw = torch.Generator().manual_seed(seed)
    ends = torch.randint(0, 6, (2, 200), generator=draw)
    return EventStream.sorted(ends[0], ends[1], torch.randint(-50, 50, (200,), generator=draw).double())


@pytest.mark.parametrize("seed", range(5))
def test_waiting_times_are_those_of_a_plain_loop(seed: int) -> None:
    stream = random_stream(seed)
    np.testing.assert_array_equal(waiting_times(stream), slow_waits(stream))


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_plain_sets(seed: int) -> None:
    stream = random_stream(seed)
    pairs = list(zip(stream.source.tolist(), stream.destination.tolist(), strict=True))
    found = describe(TemporalGraph.of(stream, num_nodes=99))
    assert found.nodes == len({end for pair in pairs for end in pair})
    assert found.pairs == len(set(pairs))
    assert found.times == len(set(stream.time.tolist()))
    repeats = [pair in pairs[:place] for place, pair in enumerate(pairs)]
    assert found.repeat_rate == pytest.approx(sum(repeats) / len(repeats))
    assert (found.first, found.last) == (min(stream.time.tolist()), max(stream.time.tolist()))
    assert found.span == found.last - found.first


def test_events_of_equal_time_stay_in_one_part() -> None:
    stream = random_stream(0)
    found = describe(TemporalGraph.of(stream))
    early = stream.time <= found.last_train
    late = stream.time > found.last_validation
    sizes = [int(early.sum()), int((~early & ~late).sum()), int(late.sum())]
    assert [part.events for part in found.parts] == sizes


def test_uci_has_the_split_and_the_waiting_times_of_the_protocol() -> None:
    parts = describe(load("uci")).parts
    assert [(part.name, part.events) for part in parts] == [("train", 41884), ("validation", 8975), ("test", 8976)]
    minutes = [
        [round(value / 60, 2) for waits in (part.source, part.destination) for value in (waits.mean, waits.median)]
        for part in parts
    ]
    assert minutes == [
        [269.66, 3.92, 443.17, 9.33],
        [1149.53, 17.66, 1829.16, 83.10],
        [2865.94, 47.58, 6544.88, 237.83],
    ]


def test_first_appearances_are_left_out() -> None:
    stream = EventStream.sorted([0, 0, 2, 0], [1, 1, 3, 2], [0.0, 1.0, 2.0, 3.0])
    waits = waits_by_part(stream, 1.0, 2.0)
    assert [waits["train"][0].tolist(), waits["train"][1].tolist()] == [[1.0], [1.0]]
    assert [len(column) for column in waits["validation"]] == [0, 0]
    assert [waits["test"][0].tolist(), waits["test"][1].tolist()] == [[2.0], [1.0]]
    validation = describe(TemporalGraph.of(stream), shares=(0.5, 0.7)).parts[1]
    assert validation.source.count == 0
    assert math.isnan(validation.source.mean)
