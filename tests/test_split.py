"""The benchmark's split: sizes, ties and unseen nodes"""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch

from chronolink import load
from chronolink.errors import ChronolinkError
from chronolink.events import EventStream, TemporalGraph
from chronolink.split import Split, boundaries
from tests.streams import random_graph

BUNDLED = ("uci", "uslegis", "enron")


@cache
def graph_of(name: str) -> TemporalGraph:
    return random_graph(500, 40) if name == "random" else load(name)


@cache
def split_of(name: str) -> Split:
    return Split.of(graph_of(name))


@pytest.fixture(params=["random", *BUNDLED])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_uci_has_the_protocols_sizes() -> None:
    split, stream = split_of("uci"), graph_of("uci").events
    assert int((stream.time <= split.last_train).sum()) == 41_884
    assert len(split.train(stream)) == 34_352
    assert len(split.validation(stream)) == 8_975
    assert len(split.test(stream)) == 8_976
    assert len(split.held_out) == 189


def test_the_boundaries_are_quantiles_of_the_event_times() -> None:
    time = graph_of("uci").events.time
    place = [share * (len(time) - 1) for share in (0.7, 0.85)]
    slow = [time[int(p)] + (p - int(p)) * (time[int(p) + 1] - time[int(p)]) for p in place]
    assert boundaries(time) == pytest.approx([float(value) for value in slow], rel=1e-15)


def test_every_event_is_in_one_part_and_events_of_equal_time_stay_together(name: str) -> None:
    split, stream = split_of(name), graph_of(name).events
    early = stream[stream.time <= split.last_train]
    parts = [early, split.validation(stream), split.test(stream)]
    assert torch.equal(torch.cat([part.id for part in parts]), stream.id)
    for one, next_one in pairwise(parts):
        assert one.time[-1] < next_one.time[0]


def test_uslegis_has_twelve_times_and_none_is_in_two_parts() -> None:
    split, stream = split_of("uslegis"), graph_of("uslegis").events
    parts = [split.train(stream), split.validation(stream), split.test(stream)]
    times = [set(part.time.tolist()) for part in parts]
    assert sum(len(found) for found in times) == 12
    assert len(set().union(*times)) == 12


def test_the_held_out_nodes_are_drawn_as_the_protocol_says(name: str) -> None:
    graph, split = graph_of(name), split_of(name)
    rows = zip(graph.events.source.tolist(), graph.events.destination.tolist(), graph.events.time.tolist(), strict=True)
    last_train = float(np.quantile(graph.events.time.numpy(), 0.7))
    candidates = {end for source, destination, time in rows if time > last_train for end in (source, destination)}
    drawn = random.Random(2020).sample(sorted(candidates), int(0.1 * graph.num_nodes))
    assert len(drawn) > 0
    assert set(split.held_out) == set(drawn)
    assert list(split.held_out) == sorted(drawn)


def test_another_seed_holds_out_other_nodes() -> None:
    assert Split.of(graph_of("uci"), seed=1).held_out != split_of("uci").held_out


def test_no_more_nodes_are_held_out_than_appear_late() -> None:
    events = EventStream.sorted([0, 0, 1, 1, 2, 2, 3, 7, 4, 5], [1, 2, 3, 0, 3, 0, 1, 6, 4, 5], range(10))
    split = Split.of(TemporalGraph.of(events, num_nodes=200))
    assert split.held_out == (4, 5, 6, 7)


def test_no_training_event_touches_a_held_out_node_and_all_others_are_kept(name: str) -> None:
    split, stream = split_of(name), graph_of(name).events
    held_out = set(split.held_out)
    rows = zip(
        stream.id.tolist(), stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True
    )
    slow = [
        row
        for row, source, destination, time in rows
        if time <= split.last_train and source not in held_out and destination not in held_out
    ]
    assert split.train(stream).id.tolist() == slow


@pytest.mark.parametrize("part", ["validation", "test"])
def test_the_unseen_mask_equals_a_loop_over_a_set(name: str, part: str) -> None:
    split, stream = split_of(name), graph_of(name).events
    train, asked = split.train(stream), getattr(split, part)(stream)
    seen = {*train.source.tolist(), *train.destination.tolist()}
    pairs = zip(asked.source.tolist(), asked.destination.tolist(), strict=True)
    slow = [source not in seen or destination not in seen for source, destination in pairs]
    assert split.touches_unseen(stream, asked).tolist() == slow
    assert any(slow)


def test_a_node_that_first_appears_after_training_is_unseen_though_nobody_held_it_out() -> None:
    events = EventStream.sorted([0] * 9 + [2], [1] * 10, range(10))
    split = Split.of(TemporalGraph.of(events), unseen=0.0)
    assert split.held_out == ()
    assert split.touches_unseen(events, split.test(events)).tolist() == [False, True]


def test_a_split_survives_json() -> None:
    for shift in (0.0, 0.1, 1.6e9 + 1 / 3):
        split = Split(-1.5 + shift, 7.1 + shift, (3, 5, 8))
        again = Split.from_json(json.loads(json.dumps(split.as_json())))
        assert again == split
        assert again.digest() == split.digest()
    assert Split.from_json(json.loads(json.dumps(split_of("uci").as_json()))) == split_of("uci")


def test_the_digest_tells_splits_apart() -> None:
    split = Split(1.0, 2.0, (3, 5))
    others = [Split(1.5, 2.0, (3, 5)), Split(1.0, 2.5, (3, 5)), Split(1.0, 2.0, (3, 6)), Split(1.0, 2.0, (3,))]
    assert len({split.digest(), *(other.digest() for other in others)}) == 5
    assert Split(1.0, 2.0, (3, 5)).digest() == split.digest()


@pytest.mark.parametrize(
    ("times", "part"),
    [
        ([5.0], "validation"),
        ([1.0] * 10, "validation"),
        ([1.0] * 9 + [2.0], "validation"),
        ([1.0] * 7 + [2.0] * 3, "test"),
    ],
)
def test_a_split_without_events_is_refused(times: list[float], part: str) -> None:
    graph = TemporalGraph.of(EventStream.sorted([0] * len(times), [1] * len(times), times), name="toy")
    with pytest.raises(ChronolinkError, match=f"toy: the {part} split has no events \\({len(times)} events"):
        Split.of(graph)


def test_none_is_held_out_where_training_would_be_left_without_events() -> None:
    graph = TemporalGraph.of(EventStream.sorted([0] * 20, [1] * 20, range(20)), name="toy")
    split = Split.of(graph, unseen=0.5)
    assert split.held_out == ()
    assert len(split.train(graph.events)) == 14


def test_a_graph_without_events_is_refused() -> None:
    nothing = EventStream.sorted([], [], [])
    graph = TemporalGraph(nothing, 3, torch.empty(3, 0), torch.empty(0, 0), name="toy")
    with pytest.raises(ChronolinkError, match="toy: the train split has no events"):
        Split.of(graph)
