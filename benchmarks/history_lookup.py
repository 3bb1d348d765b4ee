"""Looking up two hops of the past, and drawing negatives, on one thread"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from chronolink import EventStream, History, Split, TemporalGraph, load
from chronolink.allocator import keep_buffers
from chronolink.history import Neighbours
from chronolink.negatives import BLOCK, HistoricalNegatives, Negatives, RandomNegatives, negatives_named

NEIGHBOURS = 20
LOOK_UP_TARGET, NEGATIVES_TARGET = 12.0, 2.0  # milliseconds

Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class LoopedHistory:
    """The way of the frozen libraries: arrays a node, a binary search a question in a loop, zeros for padding.

    Nodes and events are counted from 1, so that 0 is padding. (Theirs hold float32 times; these are exact.)
    """

    def __init__(self, stream: EventStream, num_nodes: int) -> None:
        filed: list[list[tuple[int, int, float]]] = [[] for _ in range(num_nodes + 1)]
        columns = (stream.source + 1, stream.destination + 1, stream.id + 1, stream.time)
        for source, destination, row, when in zip(*(column.tolist() for column in columns), strict=True):
            filed[source].append((destination, row, when))
            if source != destination:
                filed[destination].append((source, row, when))
        self.node = [np.array([event[0] for event in events], dtype=np.int64) for events in filed]
        self.event = [np.array([event[1] for event in events], dtype=np.int64) for events in filed]
        self.time = [np.array([event[2] for event in events], dtype=np.float64) for events in filed]

    def before(self, nodes: NDArray[np.int64], times: NDArray[np.float64], k: int) -> Found:
        node, event = np.zeros((len(nodes), k), dtype=np.int64), np.zeros((len(nodes), k), dtype=np.int64)
        when = np.zeros((len(nodes), k), dtype=np.float64)
        for row, (asked, moment) in enumerate(zip(nodes, times, strict=True)):
            end = np.searchsorted(self.time[asked], moment)
            others = self.node[asked][:end][-k:]
            if len(others) > 0:
                node[row, k - len(others) :] = others
                event[row, k - len(others) :] = self.event[asked][:end][-k:]
                when[row, k - len(others) :] = self.time[asked][:end][-k:]
        return node, event, when


def roots(graph: TemporalGraph) -> tuple[Tensor, Tensor]:
    """Both ends of 200 test events and of their negatives: 800 questions."""
    test = Split.of(graph).test(graph.events)
    start = len(test) // 2 // BLOCK * BLOCK
    events = test[start : start + BLOCK]
    negatives = RandomNegatives(graph.events, graph.num_nodes).beside(events, seed=2)
    ends = [events.source, events.destination, negatives.source, negatives.destination]
    return torch.cat(ends), events.time.repeat(4)


def agree(past: Neighbours, found: Found) -> bool:
    """The same events in the same places, and padding in the same places."""
    columns = zip((past.node + 1, past.event + 1, past.time), found, strict=True)
    return all(np.array_equal((ours * past.valid).reshape(-1, NEIGHBOURS).numpy(), theirs) for ours, theirs in columns)


def milliseconds(work: Callable[[], object], repeats: int) -> list[float]:
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - begun))
    return taken


def look_ups() -> None:
    graph = load("uci")
    history, looped = History(graph), LoopedHistory(graph.events, graph.num_nodes)
    node, moment = roots(graph)

    def ours() -> tuple[Neighbours, Neighbours]:
        first = history.before(node, moment, NEIGHBOURS)
        return first, history.before(first.node, first.time, NEIGHBOURS)

    def twin() -> tuple[Found, Found]:
        first = looped.before(node.numpy() + 1, moment.numpy(), NEIGHBOURS)
        return first, looped.before(first[0].ravel(), first[2].ravel(), NEIGHBOURS)

    for past, found in zip(ours(), twin(), strict=True):
        assert agree(past, found), "ours and the twin's neighbours differ"
    fast, slow = [], []
    for _ in range(7):  # side by side, so that both meet the same neighbours on the machine
        slow += milliseconds(twin, 1)
        fast += milliseconds(ours, 9)
    mine, theirs = statistics.median(fast), statistics.median(slow)
    asked = len(node) * (1 + NEIGHBOURS)
    print(f"{asked:,} look-ups on UCI ({len(node)} roots x {NEIGHBOURS} x {NEIGHBOURS}), median, ms")
    print(f"{'ours':>10}{'twin':>10}{'ratio':>8}{'best':>8}")
    print(f"{mine:>10.2f}{theirs:>10.1f}{theirs / mine:>8.1f}{min(fast):>8.2f}")
    print(f"target: {LOOK_UP_TARGET:.0f} ms: {'met' if mine <= LOOK_UP_TARGET else 'missed'}")


def lastfm_sized() -> TemporalGraph:
    """As many events, nodes and distinct pairs as LastFM; popular pairs meet more often."""
    random = np.random.default_rng(0)
    events, users, songs = 1_293_103, 980, 1_000
    pairs = random.choice(users * songs, 156_000, replace=False)
    met = pairs[(random.random(events) ** 1.7 * len(pairs)).astype(np.int64)]
    moments = np.sort(random.random(events)) * 1.4e8
    columns = [torch.from_numpy(column) for column in (met // songs, users + met % songs, moments)]
    return TemporalGraph.of(EventStream(*columns, torch.arange(events)), num_nodes=users + songs)


def check_negatives(negatives: Negatives, graph: TemporalGraph, block: EventStream, last_train: float) -> None:
    """Every pair of a block against Python's own sets."""
    stream, drawn = graph.events, negatives.beside(block, seed=2)
    pairs = set(zip(drawn.source.tolist(), drawn.destination.tolist(), strict=True))
    assert pairs.isdisjoint(zip(block.source.tolist(), block.destination.tolist(), strict=True))
    if not isinstance(negatives, HistoricalNegatives):
        return
    early = stream[stream.time < block.time[0]]
    assert pairs <= set(zip(early.source.tolist(), early.destination.tolist(), strict=True))
    if negatives.skipped:
        train = stream[stream.time <= last_train]
        assert pairs.isdisjoint(zip(train.source.tolist(), train.destination.tolist(), strict=True))


def draws(graph: TemporalGraph, name: str) -> None:
    split = Split.of(graph)
    test = split.test(graph.events)
    start = len(test) // 2 // BLOCK * BLOCK
    part = test[start : start + 20 * BLOCK]
    pairs = len(torch.unique(graph.events.source * graph.num_nodes + graph.events.destination))
    print(f"negatives for a batch of {BLOCK}, ms: {name}, {len(graph.events):,} events, {pairs:,} distinct pairs")
    print(f"{'kind':>12}{'median':>10}{'most':>8}{'prepare once':>14}{'target':>8}")
    for kind in ("random", "historical", "inductive"):
        begun = time.perf_counter()
        negatives = negatives_named(kind, graph.events, graph.num_nodes, split.last_train)
        prepared = 1000 * (time.perf_counter() - begun)
        check_negatives(negatives, graph, part[:BLOCK], split.last_train)
        taken = []
        for block in range(0, len(part), BLOCK):
            events = part[block : block + BLOCK]
            taken.append(statistics.median(milliseconds(lambda e=events, n=negatives: n.beside(e, seed=2), 5)))
        typical = statistics.median(taken)
        verdict = "met" if typical <= NEGATIVES_TARGET else "missed"
        print(f"{kind:>12}{typical:>10.3f}{max(taken):>8.3f}{prepared:>14.0f}{NEGATIVES_TARGET:>5.0f} {verdict}")


def main() -> None:
    torch.set_num_threads(1)
    look_ups()
    draws(load("uci"), "UCI")
    draws(lastfm_sized(), "LastFM's size")


if __name__ == "__main__":
    keep_buffers()
    main()
