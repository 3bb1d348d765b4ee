"""Contract: settings to a kept report"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .dataset import datasets, load
from .files import read_json, write_json, write_whole
from .report import versions
from .training.watch import Watch

Watcher = Callable[[], Watch]


@dataclass(frozen=True)
class Job(ABC):
    """Settings that decide one run, and the folder that keeps its report.

    A job is done when its folder holds a report with the same settings, of the same series of the code and of the same
    data; it is not run again, whichever study asks for it.
    """

    settings: Mapping[str, Any]

    @property
    @abstractmethod
    def title(self) -> str:
        """In a few words, such as uci-tgat-linear-1."""

    @property
    def name(self) -> str:
        """The title and a digest of all settings and the series: the name of its folder."""
        decisive = json.dumps([dict(self.settings), series()], sort_keys=True)
        return f"{self.title}-{hashlib.sha256(decisive.encode()).hexdigest()[:8]}"

    @property
    def obstacle(self) -> str | None:
        """Why it cannot be run here, if it cannot."""
        data = self.settings.get("data")
        if data is not None and not on_disk(data):
            return f"{data} is not on disk; `chronolink describe {data}` fetches it"
        return None

    def folder(self, out: Path) -> Path:
        return out / "runs" / self.name

    def report(self, out: Path) -> dict[str, Any] | None:
        """What was found, if the job is done."""
        path = self.folder(out) / "report.json"
        if not path.exists():
            return None
        report: dict[str, Any] = read_json(path)
        data = self.settings.get("data")
        current = data is None or not on_disk(data) or report["data"]["digest"] == _digest(data)
        return report if current and report["settings"] == json.loads(json.dumps(dict(self.settings))) else None

    def error(self, out: Path) -> str | None:
        """Why it broke the last time, if it did."""
        path = self._error(out)
        return path.read_text().strip() if path.exists() else None

    def perform(self, out: Path, watcher: Watcher | None = None) -> dict[str, Any]:
        """Runs the job, or goes on with it where it was stopped; why it breaks is written down beside it."""
        folder = self.folder(out)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            report: dict[str, Any] = json.loads(json.dumps(self.run(folder, watcher)))
        except Exception as error:
            write_whole(self._error(out), f"{type(error).__name__}: {' '.join(str(error).split())}\n")
            raise
        self.keep(report, out)
        self._error(out).unlink(missing_ok=True)
        return report

    def keep(self, report: Mapping[str, Any], out: Path) -> None:
        self.folder(out).mkdir(parents=True, exist_ok=True)
        write_json(self.folder(out) / "report.json", report)

    @abstractmethod
    def run(self, folder: Path, watcher: Watcher | None) -> dict[str, Any]:
        """The report of the finished run, with its `settings`, and of data their `digest`."""

    def headline(self, report: Mapping[str, Any]) -> str:  # noqa: ARG002
        """What it found, in a few words."""
        return "done"

    def _error(self, out: Path) -> Path:
        return out / "runs" / f"{self.name}.error"


@cache
def series() -> str:
    """Of 0.1.3 it is 0.1: within a series a run finds the same numbers, so what is done stays done."""
    return ".".join(versions()["chronolink"].split(".")[:2])


def on_disk(data: str) -> bool:
    """Whether a data set can be used without a download."""
    return all(known.on_disk for known in datasets() if known.name == data)


@cache
def _digest(data: str) -> str:
    return load(data).digest()
