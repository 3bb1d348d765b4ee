"""Progress bars and result tables"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..training.watch import Watch

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


def watcher() -> Watch:
    """A bar in the first process, nothing in the others."""
    return Bar() if os.environ.get("RANK", "0") == "0" else Watch()


def show_test(title: str, test: Mapping[str, Any]) -> None:
    """All nodes and unseen nodes, by negatives."""
    if os.environ.get("RANK", "0") != "0":
        return
    names = [name for name in test if name != "unseen"]
    metrics = list(dict.fromkeys(metric for name in names for metric in test[name] if metric != "events"))
    table = Table("nodes", "negatives", "events", *metrics, title=title, title_justify="left")
    for nodes, found in (("all", test), ("unseen", test.get("unseen", {}))):
        for name in names:
            if found.get(name):
                values = [f"{found[name][metric]:.4f}" if metric in found[name] else "" for metric in metrics]
                table.add_row(nodes, name, f"{found[name]['events']:,}", *values)
    console.print(table)
