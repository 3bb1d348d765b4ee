"""Appending to a history: the cost of an event does not grow

A history of 10^4 to 10^7 events; then a thousand batches of one event and a hundred of a hundred are appended, with a
look-up of the latest twenty events after each.
"""

from __future__ import annotations

import statistics
import time

import torch

from chronolink import EventStream, History, TemporalGraph
from chronolink.growing import GrowingHistory

NODES = 10_000


def main() -> None:
    torch.set_num_threads(1)
    print("milliseconds, medians; an append and a look-up of 20 events of 400 nodes after it")
    print(f"{'events':>10} {'one event':>10} {'a hundred':>10} {'look-up':>8} {'History anew':>13}")
    for power in (4, 5, 6, 7):
        graph = made_up(10**power)
        history = GrowingHistory(graph)
        one, look_up = appended(history, 1, 1000)
        hundred, _ = appended(history, 100, 100)
        begun = time.perf_counter()
        History(graph)
        anew = time.perf_counter() - begun
        cells = [1000 * value for value in (one, hundred, look_up, anew)]
        print(f"{10**power:>10} {cells[0]:>10.3f} {cells[1]:>10.3f} {cells[2]:>8.2f} {cells[3]:>13.1f}", flush=True)


def made_up(events: int) -> TemporalGraph:
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(NODES, (2, events), generator=generator)
    return TemporalGraph.of(EventStream.sorted(ends[0], ends[1], torch.arange(events).double()), NODES)


def appended(history: GrowingHistory, size: int, batches: int) -> tuple[float, float]:
    """Median seconds of an append and of a look-up."""
    generator = torch.Generator().manual_seed(size)
    taken: list[tuple[float, float]] = []
    for _ in range(batches):
        source, destination = torch.randint(NODES, (2, size), generator=generator)
        when = torch.full((size,), float(history.time[-1]) + 1, dtype=torch.float64)
        asked = torch.randint(NODES, (400,), generator=generator)
        begun = time.perf_counter()
        history.append(source, destination, when, torch.empty(size, 0))
        between = time.perf_counter()
        history.before(asked, (when[:1] + 1).expand(400), 20)
        taken.append((between - begun, time.perf_counter() - between))
    return statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken)


if __name__ == "__main__":
    main()
