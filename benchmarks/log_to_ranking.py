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
from datetime import UTC, datetime
from pathlib import Path

import chronolink

COLUMNS = ["--source", "who", "--destination", "whom", "--time", "when"]
PORT = 8765
ADDRESS = f"http://127.0.0.1:{PORT}"
ASKED = f"{ADDRESS}/rank/student%205?top=3"


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
    arguments = ["serve", "runs/mail", "--port", str(PORT)]
    command = [sys.executable, "-m", "chronolink", *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
        try:
            timed(f"chronolink {' '.join(arguments)}, until it answers", wait)
            timed(f"GET {ASKED}", lambda: fetch(ASKED))
            event = {"events": [{"who": "student 9", "whom": "student 5", "when": "2004-12-01"}]}
            timed(f"POST {ADDRESS}/events", lambda: fetch(f"{ADDRESS}/events", json.dumps(event).encode()))
            timed(f"GET {ASKED}, with that event", lambda: fetch(ASKED))
        finally:
            service.terminate()


def wait() -> None:
    for _ in range(600):
        try:
            fetch(f"{ADDRESS}/health")
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{ADDRESS} does not answer")


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
