"""Pairs a second and latency of the service over loopback, with events appended meanwhile"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl

from chronolink import Predictor, TemporalGraph, Training, build, fit, load

MODELS = ("tgat", "dygformer")
SIZES = (1, 100)  # pairs a request
APPENDED, PAUSE = 10, 0.1  # events a batch, seconds between batches
WARM_UP = 2.0  # seconds that are not counted

Body = Callable[[], dict[str, Any]]


@dataclass
class Load:
    """What one client did: when each answer came, and how long it took."""

    ended: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)

    def counted(self, begun: float) -> list[float]:
        return [taken for ended, taken in zip(self.ended, self.taken, strict=True) if ended >= begun]


def columns(graph: TemporalGraph, chosen: slice) -> dict[str, list[Any]]:
    events = graph.events[chosen]
    ends = {name: [str(node) for node in getattr(events, name).tolist()] for name in ("source", "destination")}
    return {**ends, "time": events.time.tolist()}


def trained(model: str, events: int, folder: Path) -> Path:
    """One epoch on the first events of UCI; the others are observed, so that the history is whole."""
    uci = load("uci")
    pl.DataFrame(columns(uci, slice(events))).write_csv(folder / "uci.csv")
    graph = load(folder / "uci.csv")
    fit(build(model, graph), graph, Training(epochs=1), out=folder / model)
    with Predictor(folder / model) as predictor:
        if events < len(uci.events):
            predictor.observe(columns(uci, slice(events, None)))
        predictor.save()
    return folder / model


@contextmanager
def service(run: Path, threads: int) -> Iterator[tuple[str, int]]:
    """A process of its own: its host and port, and its number."""
    command = [sys.executable, "-m", "chronolink", "serve", str(run), "--port", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split()[0]
        try:
            yield urlsplit(address).netloc, process.pid
        finally:
            process.terminate()
            process.wait()


def used(process: int) -> float:
    """Seconds of all cores that a process has taken; beside busy neighbours these tell more than the clock."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def send(connection: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> Any:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = json.load(answer)
    assert answer.status == 200, content
    return content


def client(host: str, path: str, body: Body, until: float, pause: float, load: Load) -> None:
    """Sends one request after the other over one connection."""
    connection = http.client.HTTPConnection(host)
    while time.perf_counter() < until:
        asked = body()
        begun = time.perf_counter()
        send(connection, path, asked)
        load.ended.append(time.perf_counter())
        load.taken.append(load.ended[-1] - begun)
        time.sleep(pause)
    connection.close()


def questions(names: dict[str, list[Any]], size: int, seed: int) -> Body:
    """Sources of real events with destinations of others, asked at the present."""
    dice = random.Random(seed)

    def body() -> dict[str, Any]:
        ends = [(dice.choice(names["source"]), dice.choice(names["destination"])) for _ in range(size)]
        return {"pairs": [{"source": source, "destination": destination} for source, destination in ends]}

    return body


def appends(names: dict[str, list[Any]], clock: Iterator[int]) -> Body:
    """Real pairs again, a second apart, after all that happened."""
    dice = random.Random(0)

    def body() -> dict[str, Any]:
        rows = [dice.randrange(len(names["time"])) for _ in range(APPENDED)]
        ends = [{"source": names["source"][row], "destination": names["destination"][row]} for row in rows]
        return {"events": [{**pair, "time": next(clock)} for pair in ends]}

    return body


def measured(
    host: str, process: int, names: dict[str, list[Any]], clock: Iterator[int], size: int, options: Any
) -> list[str]:
    begun = time.perf_counter() + WARM_UP
    until = begun + options.seconds
    loads = [Load() for _ in range(options.clients + 1)]
    bodies = [questions(names, size, seed) for seed in range(options.clients)]
    work = [(host, "/score", body, until, 0.0, load) for body, load in zip(bodies, loads, strict=False)]
    work.append((host, "/events", appends(names, clock), until, PAUSE, loads[-1]))
    threads = [threading.Thread(target=client, args=arguments) for arguments in work]
    before = used(process)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cores = used(process) - before
    asked = [taken for load in loads[:-1] for taken in load.counted(begun)]
    appended = loads[-1].counted(begun)
    rate = len(asked) / options.seconds
    pairs = size * sum(len(load.taken) for load in loads[:-1])
    counts = [f"{size}", f"{rate:,.0f}", f"{size * rate:,.0f}", f"{pairs / cores:,.0f}", *latency(asked)]
    return [*counts, f"{APPENDED * len(appended) / options.seconds:,.0f}", *latency(appended)]


def latency(taken: list[float]) -> list[str]:
    """Milliseconds: p50 and p99."""
    return [f"{1000 * cut:.1f}" for cut in np.quantile(taken, (0.5, 0.99))] if taken else ["", ""]


def row(name: str, *cells: str) -> None:
    print(f"{name:<12}" + "".join(f"{cell:>13}" for cell in cells), flush=True)


def main(options: argparse.Namespace) -> None:
    print(f"UCI, {options.clients} clients that score and one that appends; {options.threads} threads, milliseconds")
    row(
        "model",
        "pairs asked",
        "requests/s",
        "pairs/s",
        "pairs/core s",
        "p50",
        "p99",
        "appended/s",
        "append p50",
        "append p99",
    )
    names = columns(load("uci"), slice(None))
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(options.run or MODELS):
            place = Path(folder) / str(number)
            place.mkdir()
            run = shutil.copytree(model, place / "run") if options.run else trained(model, options.events, place)
            clock = iter(range(10**10, 10**12))
            with service(run, options.threads) as (host, process):
                for size in SIZES:
                    row(Path(model).name, *measured(host, process, names, clock, size, options))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", nargs="*", help="finished runs of UCI, copied (default: trains TGAT and DyGFormer)")
    parser.add_argument("--events", type=int, default=10_000, help="to train on; the others are observed")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10.0, help="a row of the table")
    parser.add_argument("--threads", type=int, default=1, help="of the service")
    main(parser.parse_args())
