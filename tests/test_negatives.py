"""Negatives come from the protocol's candidates, fairly"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import get_args

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from chronolink import load
from chronolink.events import EventStream, TemporalGraph
from chronolink.negatives import BLOCK, HistoricalNegatives, Negatives, NegativesName, OtherNegatives, negatives_named
from chronolink.query import LinkQuery
from chronolink.split import Split, boundaries
from tests.streams import random_graph

Pairs = list[tuple[int, int]]

KINDS = get_args(NegativesName)
NEVER = 1e-4  # seeds are fixed: a fair draw stays above it, a skewed one falls far below


@cache
def graph_of(name: str) -> TemporalGraph:
    if name == "dense":  # few pairs, many ties: historical candidates run out
        return random_graph(1500, 14, span=300)
    return random_graph(3000, 60, span=500) if name == "random" else load(name)


@pytest.fixture(params=["dense", "random", "uci", "uslegis"])
def graph(request: pytest.FixtureRequest) -> TemporalGraph:
    return graph_of(request.param)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> NegativesName:
    return request.param


def negatives_of(kind: NegativesName, graph: TemporalGraph) -> Negatives:
    return negatives_named(kind, graph.events, graph.num_nodes, boundaries(graph.events.time)[0])


def pairs_of(links: EventStream | LinkQuery) -> Pairs:
    return list(zip(links.source.tolist(), links.destination.tolist(), strict=True))


def meeting(graph: TemporalGraph, block: EventStream) -> set[tuple[int, int]]:
    """The pairs that meet from the block's first time to its last."""
    stream = graph.events
    between = (stream.time >= block.time[0]) & (stream.time <= block.time[-1])
    return set(pairs_of(stream[between]))


def candidates(kind: NegativesName, graph: TemporalGraph, block: EventStream) -> set[tuple[int, int]]:
    """The protocol's words as Python sets: pairs seen before the block, minus those of its time, minus training's."""
    if kind == "random":
        return set()
    stream, start = graph.events, float(block.time[0])
    met = list(zip(pairs_of(stream), stream.time.tolist(), strict=True))
    found = {pair for pair, time in met if time < start} - meeting(graph, block)
    if kind == "inductive":
        last_train = boundaries(stream.time)[0]
        found -= {pair for pair, time in met if time <= last_train}
    return found


def blocks(part: EventStream) -> list[EventStream]:
    return [part[start : start + BLOCK] for start in range(0, len(part), BLOCK)]


def is_fair(counts: np.ndarray, share: float) -> bool:
    """Pearson's test where `share` of all candidates is drawn at a time, without replacement."""
    expected = counts.mean()
    statistic = ((counts - expected) ** 2 / expected).sum() / (1 - share)
    return NEVER < chi2.sf(statistic, len(counts) - 1) < 1 - NEVER


def test_the_candidates_are_those_of_the_protocol(graph: TemporalGraph, kind: NegativesName) -> None:
    test = Split.of(graph).test(graph.events)[: 10 * BLOCK]
    drawn = negatives_of(kind, graph).beside(test, seed=2)
    destinations = set(graph.events.destination.tolist())
    for number, block in enumerate(blocks(test)):
        found = pairs_of(drawn[number * BLOCK : (number + 1) * BLOCK])
        allowed = candidates(kind, graph, block)
        happened = set() if kind == "random" else meeting(graph, block)
        old = min(len(allowed), len(block))
        assert len(set(found[:old])) == old
        assert set(found[:old]) <= allowed
        assert [source for source, _ in found[old:]] == block.source.tolist()[old:]
        assert {destination for _, destination in found[old:]} <= destinations
        for source, destination in found[old:]:
            everywhere = all((source, other) in happened for other in destinations)
            assert (source, destination) not in happened or everywhere


def test_a_negative_is_asked_at_the_time_of_its_event(graph: TemporalGraph, kind: NegativesName) -> None:
    test = Split.of(graph).test(graph.events)
    before = [column.clone() for column in (test.source, test.destination, test.time)]
    drawn = negatives_of(kind, graph).beside(test, seed=2)
    assert len(drawn) == len(test)
    assert torch.equal(drawn.time, test.time)
    assert drawn.source.dtype == drawn.destination.dtype == torch.int64
    for column, kept in zip((test.source, test.destination, test.time), before, strict=True):
        assert torch.equal(column, kept)


def test_random_and_other_negatives_keep_the_source(graph: TemporalGraph) -> None:
    test = Split.of(graph).test(graph.events)
    for negatives in (negatives_of("random", graph), OtherNegatives(graph.events, graph.num_nodes)):
        assert torch.equal(negatives.beside(test, seed=2).source, test.source)


def test_random_negatives_are_uniform_over_all_destinations_whoever_meets() -> None:
    """A source that meets all but one destination in the block: the benchmark draws those it meets as well."""
    stream = EventStream.sorted([0] * 40, [*range(1, 40), 1], [5.0] * 40)
    negatives, counts = negatives_named("random", stream, 41, 0.0), np.zeros(41)
    for seed in range(600):
        np.add.at(counts, negatives.beside(stream, seed).destination.numpy(), 1)
    assert counts[[0, 40]].sum() == 0
    assert is_fair(counts[1:40], 0.0)


def test_other_negatives_never_happen_within_their_block(graph: TemporalGraph) -> None:
    test = Split.of(graph).test(graph.events)[: 10 * BLOCK]
    drawn = OtherNegatives(graph.events, graph.num_nodes).beside(test, seed=2)
    destinations = set(graph.events.destination.tolist())
    for number, block in enumerate(blocks(test)):
        happened = set(pairs_of(block))
        for source, destination in pairs_of(drawn[number * BLOCK : (number + 1) * BLOCK]):
            everywhere = all((source, other) in happened for other in destinations)
            assert (source, destination) not in happened or everywhere


def test_a_moment_cut_into_blocks_has_one_list_of_candidates() -> None:
    """Three blocks at one time: a pair that meets in the last of them is a negative of none."""
    past, now = [(0, other) for other in range(1, 401)], [(0, other) for other in range(1, 301)]
    source, destination = zip(*past, *now, *now, strict=True)
    stream = EventStream.sorted(source, destination, [0.0] * 400 + [1.0] * 600)
    drawn = pairs_of(HistoricalNegatives(stream, 401).beside(stream[400:], seed=0))
    for number in range(3):
        assert sorted(drawn[number * BLOCK : number * BLOCK + 100]) == [(0, other) for other in range(301, 401)]


def test_inductive_negatives_never_met_up_to_the_end_of_training() -> None:
    graph = graph_of("uci")
    split = Split.of(graph)
    early = set(pairs_of(graph.events[graph.events.time <= split.last_train]))
    test = split.test(graph.events)[: 20 * BLOCK]
    drawn = negatives_named("inductive", graph.events, graph.num_nodes, split.last_train).beside(test, seed=2)
    for number, block in enumerate(blocks(test)):
        old = min(len(candidates("inductive", graph, block)), BLOCK)
        assert old > 0
        assert early.isdisjoint(pairs_of(drawn[number * BLOCK : number * BLOCK + old]))


def test_pairs_of_the_blocks_first_moment_are_not_yet_history() -> None:
    early = EventStream.sorted([0, 1, 2, 3, 3], [1, 2, 3, 4, 0], [1.0, 2.0, 3.0, 3.0, 3.0])
    draw = HistoricalNegatives(early, 5).beside(early[3:], seed=0)
    assert set(pairs_of(draw)) <= {(0, 1), (1, 2)}


@pytest.mark.parametrize("kind", ["historical", "inductive"])
def test_the_first_block_has_no_history_and_is_random(kind: NegativesName) -> None:
    graph = graph_of("random")
    first = graph.events[:BLOCK]
    drawn = negatives_of(kind, graph).beside(first, seed=1)
    assert torch.equal(drawn.source, first.source)
    assert set(pairs_of(drawn)).isdisjoint(pairs_of(first))


@pytest.mark.parametrize("known", [150, 700, 1200])
def test_historical_negatives_are_uniform_over_their_candidates(known: int) -> None:
    """The two ways of drawing, by a permutation and by rejection, and a block with too few candidates."""
    past = [(place // 100, 100 + place % 100) for place in range(known)]
    present = past[:100:2]  # fifty of them meet in the block as well
    rows = [*past, *(present * 4)]
    source, destination = zip(*rows, strict=True)
    stream = EventStream.sorted(source, destination, [0.0] * known + [1.0] * BLOCK)
    allowed = sorted(set(past) - set(present))
    negatives, place = HistoricalNegatives(stream, 200), {pair: row for row, pair in enumerate(allowed)}
    counts, first, size = np.zeros(len(allowed)), np.zeros(len(allowed)), min(BLOCK, len(allowed))
    draws = 5 * len(allowed)
    for seed in range(draws):
        drawn = [place[pair] for pair in pairs_of(negatives.beside(stream[known:], seed))[:size]]
        assert len(set(drawn)) == size
        counts[drawn] += 1
        first[drawn[0]] += 1
    assert is_fair(first, 0.0)
    if size < len(allowed):
        assert is_fair(counts, size / len(allowed))
    else:
        assert set(counts) == {draws}


def test_inductive_negatives_are_uniform_over_their_candidates() -> None:
    pairs = [(place // 40, 40 + place % 40) for place in range(1000)]
    times = [0.0] * 500 + [1.0] * 500 + [2.0] * BLOCK
    source, destination = zip(*pairs, *(pairs[:100] + pairs[900:]), strict=True)
    stream = EventStream.sorted(source, destination, times)
    negatives = HistoricalNegatives(stream, 80, after=0.0)
    place, counts = {pair: row for row, pair in enumerate(pairs[500:900])}, np.zeros(400)
    for seed in range(800):
        counts[[place[pair] for pair in pairs_of(negatives.beside(stream[1000:], seed))]] += 1
    assert is_fair(counts, BLOCK / 400)


def test_other_negatives_are_uniform_over_the_destinations_a_source_does_not_meet() -> None:
    destinations = np.arange(50, 90)
    met = {source: set(destinations[: 4 * source].tolist()) or {50} for source in range(9)}
    rows = [(source, int(other)) for source in met for other in sorted(met[source])]
    rows = [*rows, (20, 60), *((21, int(other)) for other in destinations)]
    assert len(rows) < BLOCK
    source, destination = zip(*rows, strict=True)
    stream = EventStream.sorted(source, destination, [1.0] * len(rows))
    negatives, counts = OtherNegatives(stream, 100), np.zeros((100, 100))
    for seed in range(600):
        drawn = negatives.beside(stream, seed)
        np.add.at(counts, (drawn.source.numpy(), drawn.destination.numpy()), 1)
    happened = set(rows)
    for one in {row[0] for row in rows} - {21}:
        free = [other for other in destinations if (one, int(other)) not in happened]
        assert counts[one].sum() == counts[one, free].sum()
        assert is_fair(counts[one, free], 0.0)
    assert counts[21].sum() == 600 * 40  # meets them all, so nothing else can be drawn


@pytest.mark.parametrize("negatives", [OtherNegatives, HistoricalNegatives])
def test_a_link_of_the_block_is_drawn_only_where_no_other_can_be(negatives: type[Negatives]) -> None:
    """Source 0 meets 199 of 200 destinations in one block: the one that is left must be found."""
    stream = EventStream.sorted([0] * 199 + [1], [*range(1, 200), 200], [5.0] * 200)
    drawn = negatives(stream, 201).beside(stream, seed=3)
    assert pairs_of(drawn)[:199] == [(0, 200)] * 199
    assert pairs_of(drawn)[199][0] == 1
    assert pairs_of(drawn)[199][1] != 200


def test_a_graph_in_which_every_link_happens_still_gives_negatives(kind: NegativesName) -> None:
    stream = EventStream.sorted([0, 0, 1, 1], [2, 3, 2, 3], [1.0, 1.0, 2.0, 2.0])
    drawn = negatives_named(kind, stream, 4, 0.0).beside(stream, seed=0)
    assert torch.equal(drawn.source, stream.source)
    assert set(drawn.destination.tolist()) <= {2, 3}
    lonely = EventStream.sorted([0], [0], [1.0])
    assert pairs_of(negatives_named(kind, lonely, 1, 0.0).beside(lonely, seed=0)) == [(0, 0)]


def test_too_few_candidates_are_all_used_and_the_rest_is_random() -> None:
    past, source = 30, [0] * 30 + list(range(100, 300))
    stream = EventStream.sorted(source, [*range(1, 31), *([50] * 200)], [0.0] * past + [1.0] * BLOCK)
    block = stream[past:]
    drawn = pairs_of(HistoricalNegatives(stream, 300).beside(block, seed=1))
    assert sorted(drawn[:past]) == [(0, other) for other in range(1, 31)]
    assert drawn[:past] != sorted(drawn[:past])
    assert [one for one, _ in drawn[past:]] == block.source.tolist()[past:]
    assert {other for _, other in drawn[past:]} <= set(range(1, 31))


def test_the_same_seed_draws_the_same(graph: TemporalGraph, kind: NegativesName) -> None:
    test = Split.of(graph).test(graph.events)[: 3 * BLOCK]
    one, again = (pairs_of(negatives_of(kind, graph).beside(test, seed=2, epoch=1)) for _ in range(2))
    assert one == again


def test_another_seed_or_epoch_draws_otherwise(graph: TemporalGraph, kind: NegativesName) -> None:
    test, negatives = Split.of(graph).test(graph.events)[: 3 * BLOCK], negatives_of(kind, graph)
    settings = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (0, 2)]
    draws = [tuple(pairs_of(negatives.beside(test, seed, epoch))) for seed, epoch in settings]
    assert len(set(draws)) == len(settings)


def test_equal_blocks_draw_otherwise(kind: NegativesName) -> None:
    past = EventStream.sorted([0] * 600, list(range(1, 601)), [0.0] * 600)
    source, destination = [700] * (3 * BLOCK), [600] * (3 * BLOCK)
    stream = EventStream.sorted(
        [*past.source.tolist(), *source], [*past.destination.tolist(), *destination], [0.0] * 600 + [1.0] * 600
    )
    drawn = pairs_of(negatives_named(kind, stream, 701, -1.0).beside(stream[600:], seed=0))
    assert len({tuple(drawn[start : start + BLOCK]) for start in range(0, 3 * BLOCK, BLOCK)}) == 3


def test_whole_blocks_are_drawn_the_same_whatever_follows(graph: TemporalGraph, kind: NegativesName) -> None:
    test, negatives = Split.of(graph).test(graph.events)[: 4 * BLOCK + 17], negatives_of(kind, graph)
    whole = pairs_of(negatives.beside(test, seed=2))
    for size in (0, BLOCK, min(3 * BLOCK, len(test) // BLOCK * BLOCK)):
        assert pairs_of(negatives.beside(test[:size], seed=2)) == whole[:size]


def test_blocks_are_200_events_as_the_protocol_says() -> None:
    assert BLOCK == 200


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_linear_in_the_events_however_many_nodes_there_are(kind: NegativesName) -> None:
    generator = torch.Generator().manual_seed(0)
    nodes, events = 3_000_000, 20_000
    ends = torch.randint(nodes, (2, events), generator=generator)
    stream = EventStream.sorted(ends[0], ends[1], torch.arange(events))
    used = peak(lambda: negatives_named(kind, stream, nodes, events / 2).beside(stream[-BLOCK:], seed=0))
    assert used < 300 * events


def test_pairs_of_large_node_ids_are_kept_apart() -> None:
    nodes = 3_000_000_000  # their pairs still fit into 63 bits
    past = [(nodes - 1, nodes - 2), (nodes - 2, nodes - 1), (0, nodes - 1)]
    source, destination = zip(*past, (5, 6), strict=True)
    stream = EventStream.sorted(source, destination, [1.0, 2.0, 3.0, 4.0])
    drawn = {pairs_of(HistoricalNegatives(stream, nodes).beside(stream[3:], seed))[0] for seed in range(40)}
    assert drawn == set(past)
