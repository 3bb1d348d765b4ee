"""Averages over seeds, beside the paper's"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Published = tuple[float, float]  # mean and standard deviation


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table: mean and standard deviation over the runs there are, and what the paper has there."""

    mean: float | None = None  # None: nothing was run
    deviation: float | None = None  # None below two runs
    runs: int = 0
    paper: Published | None = None
    rank: int = 0  # 1 is the best of those it competes with, 2 the second best, 0 any other
    paper_rank: int = 0

    @classmethod
    def of(cls, values: Sequence[float], paper: Published | None = None) -> Cell:
        if not values:
            return cls(paper=paper)
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), deviation, len(values), paper)

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, in the table's unit."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper[0]

    @property
    def difference_in_deviations(self) -> float | None:
        """The same in the paper's standard deviations."""
        if self.difference is None or self.paper is None or not self.paper[1]:
            return None
        return self.difference / self.paper[1]

    @property
    def off(self) -> bool:
        """Whether it is further from the paper than chance explains: two of its deviations and one whole point."""
        apart = self.difference_in_deviations
        return apart is not None and abs(apart) > 2 and abs(self.difference or 0) > 1


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one competitor, such as ("tgat", "linear")."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def wins(self) -> int:
        return sum(cell.rank == 1 for cell in self.cells)

    @property
    def paper_wins(self) -> int:
        return sum(cell.paper_rank == 1 for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by labels, columns by data set (or by width)."""

    name: str  # of its file
    title: str
    heads: tuple[str, ...]  # of the labels, such as ("model", "time encoder")
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    unit: str = "AP in %"
    digits: int = 2
    wins: bool = True  # whether winning columns are counted
    among: int = 1  # rows with the same first so many labels compete
    across: str = "data set"  # what a column is

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Table:
        rows = tuple(Row(tuple(row["labels"]), tuple(map(_cell, row["cells"]))) for row in kept["rows"])
        return cls(**{**kept, "heads": tuple(kept["heads"]), "columns": tuple(kept["columns"]), "rows": rows})

    @property
    def groups(self) -> list[list[Row]]:
        """The rows that compete with each other, in the order in which they first appear."""
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.labels[: self.among], []).append(row)
        return list(groups.values())


def _cell(kept: Mapping[str, Any]) -> Cell:
    return Cell(**{**kept, "paper": kept["paper"] and tuple(kept["paper"])})


def ranked(table: Table, least: bool = False, among: int = 1) -> Table:
    """The table with the best and second best of every group marked; rows with the same first `among` labels compete.

    Equal numbers, as they are printed, share a rank, and as in the paper two that are best leave no second best.
    Where only one competitor has a number there is no best.
    """
    rows = list(table.rows)
    for group in dict.fromkeys(row.labels[:among] for row in rows):
        members = [number for number, row in enumerate(rows) if row.labels[:among] == group]
        for column in range(len(table.columns)):
            ours = _ranks([rows[n].cells[column].mean for n in members], table.digits, least)
            theirs = _ranks([_mean(rows[n].cells[column].paper) for n in members], table.digits, least)
            for number, rank, paper_rank in zip(members, ours, theirs, strict=True):
                cells = list(rows[number].cells)
                cells[column] = replace(cells[column], rank=rank, paper_rank=paper_rank)
                rows[number] = replace(rows[number], cells=tuple(cells))
    return replace(table, rows=tuple(rows), among=among)


def _ranks(values: Sequence[float | None], digits: int, least: bool) -> list[int]:
    known = [round(value, digits) for value in values if value is not None]
    if len(known) < 2:
        return [0] * len(values)
    order = sorted(known, reverse=not least)
    ranks = [0 if value is None else order.index(round(value, digits)) + 1 for value in values]
    return [rank if rank <= 2 else 0 for rank in ranks]


def _mean(paper: Published | None) -> float | None:
    return None if paper is None else paper[0]
