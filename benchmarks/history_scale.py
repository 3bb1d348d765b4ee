"""Building a history of up to ten million events, and looking up in it"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

from chronolink import EventStream, History, TemporalGraph
from chronolink.allocator import keep_buffers

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
ROOTS, NEIGHBOURS, REPEATS = 800, 20, 9
SECONDS, BYTES = 20.0, 1.5e9  # targets at the largest size


def synthetic(events: int) -> TemporalGraph:
    """Skewed nodes, a tenth as many as events, and exact times since 1970 with fractions of seconds."""
    random = np.random.default_rng(0)
    nodes = events // 10
    ends = [(random.random(events) ** 2 * nodes).astype(np.int64) for _ in range(2)]
    moments = np.sort(random.random(events)) * 1e8 + 1.5e9
    stream = EventStream(*map(torch.from_numpy, ends), torch.from_numpy(moments), torch.arange(events))
    return TemporalGraph.of(stream, num_nodes=nodes)


def measured(events: int) -> dict[str, float]:
    """In this process: seconds to build, the median of many look-ups, and the peak of resident memory so far."""
    torch.set_num_threads(1)
    start = _peak()
    graph = synthetic(events)
    begun = time.perf_counter()
    history = History(graph)
    build = time.perf_counter() - begun
    random = torch.Generator().manual_seed(1)
    taken = []
    for _ in range(REPEATS):  # other questions every time, so that no cache knows the answers
        node = torch.randint(graph.num_nodes, (ROOTS,), generator=random)
        moment = graph.events.time[torch.randint(events // 2, events, (ROOTS,), generator=random)]
        begun = time.perf_counter()
        past = history.before(node, moment, NEIGHBOURS)
        history.before(past.node, past.time, NEIGHBOURS)
        taken.append(time.perf_counter() - begun)
    return {"events": events, "build": build, "look_up": statistics.median(taken), "start": start, "peak": _peak()}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def in_a_fresh_process(events: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--events", str(events)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    print("a fresh process each, one thread; memory is the peak of the whole process, PyTorch and the stream included")
    print(f"{'events':>10}{'build, s':>10}{'memory, MB':>12}{'16,800 look-ups, ms':>21}{'ms a log2(events)':>19}")
    rows = [in_a_fresh_process(events) for events in SIZES]
    for row in rows:
        milliseconds = 1000 * row["look_up"]
        print(
            f"{row['events']:>10,.0f}{row['build']:>10.2f}{row['peak'] / 1e6:>12.0f}"
            f"{milliseconds:>21.2f}{milliseconds / math.log2(row['events']):>19.3f}"
        )
    first, last = rows[0], rows[-1]
    built = last["build"] < SECONDS and last["peak"] < BYTES
    print(f"target at ten million: under {SECONDS:.0f} s and {BYTES / 1e9:.1f} GB: {verdict(built)}")
    growth, more = last["look_up"] / first["look_up"], last["events"] / first["events"]
    steps = math.log2(last["events"]) / math.log2(first["events"])
    print(f"{more:,.0f} times the events: a search takes {steps:.2f} times the steps (the logarithm),")
    print(f"and a look-up {growth:.1f} times as long (the rest are reads that miss the caches)")
    tenfold = growth ** (1 / math.log10(more))
    print(f"target: ten times the events take less than twice as long: {tenfold:.2f}, {verdict(tenfold < 2)}")


def verdict(met: bool) -> str:
    return "met" if met else "missed"


if __name__ == "__main__":
    keep_buffers()
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int)
    asked = parser.parse_args().events
    print(json.dumps(measured(asked))) if asked else main()
