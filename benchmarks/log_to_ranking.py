"""From a CSV with names and dates to a served ranking, by the commands that a user types

The log is UCI's messages with names for numbers and ISO dates for seconds.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import chronolink
from _side_by_side import THREADS
from serve_load import service

COLUMNS = ["--source", "who", "--destination", "whom", "--time", "when"]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_log(folder / "mail.csv")
        begun = time.perf_counter()
        commands = [
            ["describe", "mail.csv", *COLUMNS],
            ["train", "mail.csv", *COLUMNS, "--epochs", "3", "--out", "runs/mail"],
            ["rank", "runs/mail", "--node", "student 5", "--top", "3"],
        ]
        for arguments in commands:
            timed(f"chronolink {' '.join(arguments)}", lambda: chronolink_does(arguments, folder))  # noqa: B023
        serve_and_ask(folder)
        print(f"{time.perf_counter() - begun:8.1f} s  all of it")


def write_log(path: Path) -> None:
    stream = chronolink.load("uci").events
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["who", "whom", "when"])
        columns = (column.tolist() for column in (stream.source, stream.destination, stream.time))
        for who, whom, when in zip(*columns, strict=True):
            rows.writerow([f"student {who}", f"student {whom}", datetime.fromtimestamp(when, UTC).isoformat()])


def chronolink_does(arguments: list[str], folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "chronolink", *arguments], cwd=folder, check=True, capture_output=True)


def serve_and_ask(folder: Path) -> None:
    with ExitStack() as stack:
        started: list[str] = []
        serving = service(folder / "runs" / "mail", THREADS)
        timed("chronolink serve runs/mail, until it answers", lambda: started.append(stack.enter_context(serving)[0]))
        events, ranking = f"http://{started[0]}/events", f"http://{started[0]}/rank/student%205?top=3"
        new = {"events": [{"who": "student 9", "whom": "student 5", "when": "2004-12-01"}]}
        timed(f"GET {ranking}", lambda: fetch(ranking))
        timed(f"POST {events}", lambda: fetch(events, json.dumps(new).encode()))
        timed(f"GET {ranking}, with that event", lambda: fetch(ranking))


def fetch(address: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        content: bytes = answer.read()
        return content


def timed(what: str, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    print(f"{time.perf_counter() - begun:8.1f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
