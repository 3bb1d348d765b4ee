"""How long nodes wait, by split"""

from __future__ import annotations

from pathlib import Path

from ..analysis.statistics import Part, describe
from ..dataset import load
from ..job import Job, on_disk
from ..paper import tables
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table

COLUMNS = ("source mean", "source median", "destination mean", "destination median")
MINUTE = 60.0


class WaitingTimes(Study):
    """Time since the previous event of the source and of the destination, in each part of the split."""

    title = "Waiting times"
    about = (
        "Minutes since the source's and the destination's previous event, first appearances left out. The paper's "
        "figures for UCI do not come from the 70/85 split of the events; waits grow towards the test split in both."
    )

    def jobs(self, scope: Scope) -> list[Job]:  # noqa: ARG002
        return []

    def findings(self, scope: Scope, out: Path) -> Findings:  # noqa: ARG002
        return Findings(tuple(_table(data) for data in scope.data or ("uci",) if on_disk(data)))


def _table(data: str) -> Table:
    rows = tuple(_row(data, part) for part in describe(load(data)).parts)
    title = f"Waiting times in {data}"
    return Table(f"waiting-times-{data}", title, ("part",), COLUMNS, rows, unit="minutes", wins=False)


def _row(data: str, part: Part) -> Row:
    waits = (part.source.mean, part.source.median, part.destination.mean, part.destination.median)
    theirs = tables()["uci_waiting_time_minutes"][part.name] if data == "uci" else {}
    papers = [theirs.get(column.replace(" ", "_")) for column in COLUMNS]
    cells = zip(waits, papers, strict=True)
    return Row((part.name,), tuple(Cell.of([wait / MINUTE], paper and (paper, 0.0)) for wait, paper in cells))
