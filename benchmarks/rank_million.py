"""One node among a million candidates: seconds and memory

Usage: python benchmarks/rank_million.py [MODEL ...]

Three million events between ten thousand sources and a million destinations, made up; the weights are untrained, which
costs the same. Beside it a thousand nodes, each ranked among two thousand candidates at one time, by embedding every
node once and by asking about every pair.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

from _side_by_side import resident
from chronolink import EventStream, LinkModel, LinkQuery, TemporalGraph, build
from chronolink.candidates import Asking
from chronolink.growing import GrowingHistory

MODELS = ("tgat", "graphmixer", "tgn", "recency")


def main(models: list[str]) -> None:
    torch.set_num_threads(2)
    graph = made_up(3_000_000, 10_000, 1_000_000)
    history = GrowingHistory(graph)
    candidates = torch.arange(10_000, graph.num_nodes)
    print("a million candidates, 2 threads")
    print(f"{'model':<12} {'seconds':>8} {'MB more at the peak':>20}")
    for name in models:
        asking = Asking(ready(name, graph, history), history)
        Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the peak so far
        before = resident("VmRSS")
        begun = time.perf_counter()
        scores = asking.among(torch.tensor([7]), candidates, float(history.time[-1]) + 1)
        seconds = time.perf_counter() - begun
        assert len(scores) == len(candidates)
        print(f"{name:<12} {seconds:>8.1f} {(resident('VmHWM') - before) / 1e6:>20.0f}", flush=True)
    many(1000)


def many(sources: int) -> None:
    graph = made_up(60_000, 2_000, 2_000)
    history = GrowingHistory(graph)
    asking, candidates = Asking(ready("tgat", graph, history), history), torch.arange(2_000, 4_000)
    at = float(history.time[-1]) + 1
    begun = time.perf_counter()
    for source in range(sources):
        once = asking.among(torch.tensor([source]), candidates, at)
    together = time.perf_counter() - begun
    begun, few = time.perf_counter(), 10
    moment = torch.tensor(at, dtype=torch.float64).expand(len(candidates))
    for source in range(sources - few, sources):
        alone = asking.pairs(LinkQuery(torch.tensor([source]).expand(len(candidates)), candidates, moment))
    by_pairs = (time.perf_counter() - begun) * sources / few
    assert torch.allclose(once, alone, atol=1e-5)
    print(
        f"\n{sources} nodes with tgat, 2,000 candidates each: {together:.1f} s embedded once, {by_pairs:.1f} s by pairs"
    )
    print(f"(estimated from {few} nodes): {by_pairs / together:.0f} times faster, the same scores to rounding")


def made_up(events: int, sources: int, destinations: int) -> TemporalGraph:
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(sources, (events,), generator=generator)
    destination = torch.randint(destinations, (events,), generator=generator) + sources
    when = torch.rand(events, generator=generator, dtype=torch.float64) * 1e7
    return TemporalGraph.of(EventStream.sorted(source, destination, when), sources + destinations)


def ready(name: str, graph: TemporalGraph, history: GrowingHistory) -> LinkModel:
    model = build(name, graph).eval()
    model.prepare(graph.events[:10_000], history)
    return model


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODELS))
