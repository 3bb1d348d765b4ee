"""A process that appends is killed again and again: what it acknowledged is there

Usage: python benchmarks/append_kills.py [KILLS] [SEED]

A child opens the run, observes events, one to five at a time, and acknowledges each batch. It is killed with SIGKILL
at a random moment, and every third time a piece of a record is left at the end of the journal, as a power cut may leave
it. Then the run is opened again and must hold all events of before, those that were acknowledged, and at most the one
batch that was under way, whole.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import chronolink
from chronolink import Training, build, fit
from chronolink.journal import HEAD

NODES = 6


def main(kills: int = 1000, seed: int = 0) -> None:
    draw = random.Random(seed)
    kept = under_way = torn = 0
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        elsewhere(small_run, run)
        for number in range(kills):
            choice = draw.random()
            batches = sizes(choice)
            acknowledged = sum(next(batches) for _ in range(killed(run, kept, choice, draw.random() * 0.05)))
            if number % 3 == 0:
                torn += tear(run, draw)
            found = elsewhere(events_kept, run)
            assert found >= kept + acknowledged, f"kill {number}: an acknowledged event is lost"
            extra = found - kept - acknowledged
            assert extra in (0, next(batches)), f"kill {number}: {extra} events of a batch are there, not all"
            under_way, kept = under_way + bool(extra), found
    seconds = time.perf_counter() - begun
    print(f"{kills} kills in {seconds:.0f} s: {kept:,} events kept, none of the acknowledged ones lost")
    print(f"{under_way} batches were on disk when the kill came before their acknowledgement; {torn} torn ends dropped")


def elsewhere(work: Callable[[Path], int], run: Path) -> int:
    """The answer of a child: this process only forks, as the reading library starts threads, which no fork survives."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, str(work(run)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return int(answer)


def small_run(run: Path) -> int:
    """Of a model that learns nothing, so that opening it is quick."""
    path = run.with_suffix(".csv")
    path.write_text("source,destination,time\n" + "".join(f"{n},{(n + 1) % NODES},{n - NODES}\n" for n in range(NODES)))
    graph = chronolink.load(path)
    fit(build("recency", graph), graph, Training(epochs=1), out=run)
    return 0


def sizes(choice: float) -> Iterator[int]:
    """Of a child's batches."""
    draw = random.Random(choice)
    while True:
        yield draw.randint(1, 5)


def event(number: int) -> tuple[str, str, float]:
    """The event that is observed as the so-many-th, so that any mix-up shows."""
    return str(number % NODES), str(number * 7 % NODES), float(number)


def killed(run: Path, first: int, choice: float, delay: float) -> int:
    """How many batches a child acknowledged before it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        append_forever(run, first, choice, writer)
    os.close(writer)
    select.select([reader], [], [])
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return len(pipe.read()) - 1  # the first byte says that the run is open


def append_forever(run: Path, first: int, choice: float, writer: int) -> None:
    columns = ("source", "destination", "time")
    with chronolink.open(run) as predictor:
        os.write(writer, b"o")
        for size in sizes(choice):
            rows = [event(number) for number in range(first, first + size)]
            predictor.observe({name: [row[i] for row in rows] for i, name in enumerate(columns)})
            os.write(writer, b".")
            first += size


def tear(run: Path, draw: random.Random) -> int:
    """Leaves a piece of a record at the end."""
    if not (run / "live" / "journal").exists():
        return 0  # killed before the first append
    piece = (HEAD.pack(100, draw.getrandbits(32)) + draw.randbytes(100))[: draw.randint(1, 107)]
    with (run / "live" / "journal").open("ab") as file:
        file.write(piece)
    return 1


def events_kept(run: Path) -> int:
    """How many were observed; each must be the one that belongs there."""
    with chronolink.open(run) as predictor:
        events = predictor.history.graph.events
        rows = list(zip(events.source.tolist(), events.destination.tolist(), events.time.tolist(), strict=True))[NODES:]
        numbers = range(len(rows))
        assert rows == [(int(source), int(destination), when) for source, destination, when in map(event, numbers)]
        return len(rows)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
