"""Small runs and the service over them"""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn

from chronolink import Predictor, Training, build, fit, load
from chronolink.service.app import create_app

PEOPLE = ("ann", "bob", "Çelik", "dan o'neil", "eve", "fay/jr", "gil", "7")
BEGUN = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS: Any = {"source": "who", "destination": "whom", "time": "when", "edge_features": ["amount"]}


def day(number: float) -> str:
    return (BEGUN + timedelta(days=number)).strftime("%Y-%m-%d %H:%M:%S")


def make_run(folder: Path, model: str = "recency", people: Sequence[str] = PEOPLE, events: int = 200) -> Path:
    """One epoch at most on a log with dates, one event a day, each person writing to one of the next three."""
    with (folder / "log.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "whom", "when", "amount"])
        for number in range(events):
            source, step = number * 7 % len(people), 1 + number // len(people) % 3
            writer.writerow([people[source], people[(source + step) % len(people)], day(number), number % 5])
    graph = load(folder / "log.csv", **COLUMNS)
    fit(build(model, graph), graph, Training(epochs=1), out=folder / model)
    return folder / model


def event(number: float, who: str = "ann", whom: str = "bob") -> dict[str, Any]:
    return {"who": who, "whom": whom, "when": day(number), "amount": 1.0}


@contextmanager
def served(run: Path, key: str | None = None) -> Iterator[str]:
    """The service over loopback, in a thread of this process; its address."""
    with Predictor(run) as predictor:
        server = uvicorn.Server(uvicorn.Config(create_app(predictor, key), port=0, log_config=None))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.01)
        host, port = server.servers[0].sockets[0].getsockname()
        try:
            yield f"http://{host}:{port}/"
        finally:
            server.should_exit = True
            thread.join()
