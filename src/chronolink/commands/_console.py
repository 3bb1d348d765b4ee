"""Progress bars and result tables"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..calibration import Calibration
from ..files import write_whole
from ..report import Report
from ..training.watch import Watch

BEFORE = ("brier_before", "ece_before")  # below the table, as they would make it too wide
WIDTH = 110  # where no terminal says how wide it is
console = Console(width=None if sys.stdout.isatty() else WIDTH)
messages = Console(stderr=True, width=None if sys.stderr.isatty() else WIDTH)


class Bar(Watch):
    """A bar a pass with loss, best AP and time left; one line a finished epoch."""

    def __init__(self) -> None:
        self.best = 0.0
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
        )
        self.progress = Progress(*columns, TimeRemainingColumn(), console=messages, transient=True)
        self.task = self.progress.add_task("", total=1, state="", visible=False)
        self.progress.start()

    def stage(self, label: str, events: int) -> None:
        self.progress.reset(self.task, total=events, description=label, state="", visible=True)

    def advance(self, events: int, loss: float) -> None:
        best = f"  best AP {self.best:.4f}" if self.best else ""
        self.progress.update(self.task, advance=events, state=f"loss {loss:.4f}{best}")

    def epoch(self, record: dict[str, Any]) -> None:
        aps = {negatives: metrics["ap"] for negatives, metrics in record["validation"].items()}
        self.best = max(self.best, next(iter(aps.values()), 0.0))
        shown = ", ".join(f"AP {ap:.4f} ({negatives})" for negatives, ap in aps.items())
        line = f"epoch {record['epoch']:>3}  loss {record['loss']:.4f}  validation {shown}  {record['seconds']:.1f} s"
        messages.print(line, highlight=False)

    def close(self) -> None:
        self.progress.stop()


def _first() -> bool:
    """Of several processes one speaks."""
    return os.environ.get("RANK", "0") == "0"


def watcher() -> Watch:
    """A bar in the first process, nothing in the others."""
    return Bar() if _first() else Watch()


def show_test(title: str, test: Mapping[str, Any]) -> None:
    """All nodes and unseen nodes, by negatives."""
    if not _first():
        return
    names = [name for name in test if name != "unseen"]
    known = dict.fromkeys(metric for name in names for metric in test[name])
    metrics = [metric for metric in known if metric not in ("events", *BEFORE)]
    table = Table("nodes", "negatives", "events", *metrics, title=title, title_justify="left")
    for nodes, found in (("all", test), ("unseen", test.get("unseen", {}))):
        for name in names:
            if found.get(name):
                values = [f"{found[name][metric]:.4f}" if metric in found[name] else "" for metric in metrics]
                table.add_row(nodes, name, f"{found[name]['events']:,}", *values)
    console.print(table)
    before = {name: [f"{test[name][metric]:.4f}" for metric in BEFORE if metric in test[name]] for name in names}
    shown = "; ".join(f"{name} {', '.join(values)}" for name, values in before.items() if values)
    if shown:
        console.print(f"brier, ece before calibration: {shown}", highlight=False)


def show_calibration(calibration: Calibration) -> None:
    """What makes a score a probability."""
    if not _first():
        return
    offset, temperature = calibration.offset, calibration.temperature
    shift = f"score {'-' if offset >= 0 else '+'} {abs(offset):.6g}"
    console.print(f"probability = sigmoid(({shift}) / {temperature:.6g})", highlight=False)
    if calibration.note:
        console.print(calibration.note, highlight=False)


def keep_reliability(report: Report, out: Path) -> None:
    """Shows the calibration of a finished run and draws into its folder how far the probabilities hold."""
    if not _first() or not report.calibration:
        return
    show_calibration(Calibration.of(report.calibration))
    if not (out / "reliability.png").exists():
        _draw(report, out)
    console.print(f"reliability: {out / 'reliability.png'}", highlight=False)


def _draw(report: Report, out: Path) -> None:
    """PDF for papers, then PNG: where that is, both are."""
    from ..figures.reliability import reliability  # matplotlib is slow to import, and this file is everywhere

    title = f"{report.data['name']}: probabilities against what happened"
    figure = reliability(report.calibration["reliability"], title)
    for suffix in ("pdf", "png"):
        content = BytesIO()
        figure.savefig(content, format=suffix)
        write_whole(out / f"reliability.{suffix}", content.getvalue())
