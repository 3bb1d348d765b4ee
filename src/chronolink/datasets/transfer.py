"""One download, resumed where it stopped"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

CHUNK = 1 << 18
ATTEMPTS = 4  # without a byte of progress


@dataclass(frozen=True, slots=True)
class Transfer:
    """A downloader for pooch that keeps what has come in `part` and asks for the rest only."""

    part: Path
    size: int
    patience: float

    def __call__(self, url: str, output_file: str, _pooch: object = None) -> None:
        with _bar() as progress:
            task = progress.add_task(Path(output_file).name, total=self.size)
            self._complete(url, lambda done: progress.update(task, completed=done))
        os.replace(self.part, output_file)

    def _complete(self, url: str, show: Callable[[int], None]) -> None:
        left = ATTEMPTS
        while (done := self._done()) < self.size:
            fault: Exception = ConnectionError(f"stopped at {done} of {self.size} bytes")
            try:
                self._go_on(url, done, show)
            except HTTPError:
                raise
            except (OSError, HTTPException) as error:
                fault = error
            left = ATTEMPTS if self._done() > done else left - 1
            if not left:
                raise ConnectionError(str(fault)) from fault

    def _done(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _go_on(self, url: str, done: int, show: Callable[[int], None]) -> None:
        request = Request(url, headers={"Range": f"bytes={done}-"} if done else {})
        with urlopen(request, timeout=self.patience) as answer:
            # a server that knows no ranges answers 200 and sends the whole file
            resumed = answer.status == 206
            with self.part.open("ab" if resumed else "wb") as file:
                _copy(answer, file.write, show, done if resumed else 0)


def _copy(answer: HTTPResponse, write: Callable[[bytes], object], show: Callable[[int], None], done: int) -> None:
    while chunk := answer.read(CHUNK):
        write(chunk)
        done += len(chunk)
        show(done)


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal)
