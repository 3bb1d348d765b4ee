"""AP against a width, with parameters"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure

from ..build import build
from ..figures.curves import Point, curves
from ..job import Job
from ..jobs.training import TrainingJob
from ..model import GraphShape
from ..paper import PADDED, published
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table, ranked
from ._grid import WHOLE, ap, paper_job

ENCODERS = ("cosine", "linear")


class Widths(Study):
    """One model at several widths of its time features, all else as the paper selected it."""

    model: ClassVar[str]
    widths: ClassVar[tuple[int, ...]]  # the widest first, which is the model as it is
    data: ClassVar[tuple[str, ...]]
    file: ClassVar[str]
    axis: ClassVar[str]

    def narrowed(self, width: int) -> Mapping[str, Any]:
        """What is changed for a width."""
        raise NotImplementedError

    def jobs(self, scope: Scope) -> list[Job]:
        cells = [(data, *row) for data in scope.of_data(self.data) for row in self._rows(scope)]
        return [self._job(*cell, seed, scope) for cell in cells for seed in scope.of_seeds()]

    def findings(self, scope: Scope, out: Path) -> Findings:
        chosen = [(data, encoder) for data in scope.of_data(self.data) for encoder in scope.of_time_encoders(ENCODERS)]
        rows = [self._row(data, encoder, scope, out) for data, encoder in chosen]
        shares = [Row(labels, _shares(self._counts(*labels))) for labels in chosen]
        heads, columns = ("data", "time encoder"), tuple(map(str, self.widths))
        unit = scope.unit("AP in %")
        scores = Table(self.file, self.title, heads, columns, tuple(rows), unit=unit, wins=False, across="width")
        title, name = f"Parameters, share of {self.widths[0]}'s", f"{self.file}-parameters"
        sizes = Table(name, title, heads, columns, tuple(shares), unit="%", digits=1, wins=False, across="width")
        return Findings((ranked(scores), sizes), self._figure(rows))

    def _row(self, data: str, encoder: str, scope: Scope, out: Path) -> Row:
        return Row((data, encoder), tuple(self._cell(data, encoder, width, scope, out) for width in self.widths))

    def _figure(self, rows: list[Row]) -> dict[str, Figure]:
        """Nothing where nothing was run."""
        panels: dict[str, dict[str, list[Point]]] = {}
        for row in rows:
            data, encoder = row.labels
            points = zip(self.widths, row.cells, self._counts(data, encoder), strict=True)
            found = [Point(width, cell.mean, cell.deviation, count) for width, cell, count in points if cell.mean]
            if found:
                panels.setdefault(data, {})[encoder] = found
        return {self.file: curves(panels, self.title, self.axis)} if panels else {}

    def _rows(self, scope: Scope) -> list[tuple[str, int]]:
        return [(encoder, width) for encoder in scope.of_time_encoders(ENCODERS) for width in self.widths]

    def _job(self, data: str, encoder: str, width: int, seed: int, scope: Scope = WHOLE) -> TrainingJob:
        changes = self.narrowed(width) if width != self.widths[0] else {}
        return paper_job(data, self.model, encoder, "random", seed, scope, **changes)

    def _cell(self, data: str, encoder: str, width: int, scope: Scope, out: Path) -> Cell:
        reports = [self._job(data, encoder, width, seed, scope).report(out) for seed in scope.of_seeds()]
        widest = published("test_ap_random_ns", self.model, encoder, data) if width == self.widths[0] else None
        return Cell.of([ap(report, "random") for report in reports if report is not None], widest)

    def _counts(self, data: str, encoder: str) -> list[int]:
        return [_parameters(self._job(data, encoder, width, 1)) for width in self.widths]


def _shares(counts: list[int]) -> tuple[Cell, ...]:
    return tuple(Cell.of([100 * count / counts[0]]) for count in counts)


def _parameters(job: TrainingJob) -> int:
    """With node and edge features padded as the paper pads them, so that counts are comparable."""
    model = dict(job.settings["model"])
    return _counted(model.pop("name"), tuple(model.items()), tuple(job.settings["time_encoder"].items()))


@cache
def _counted(model: str, options: tuple[tuple[str, Any], ...], encoder: tuple[tuple[str, Any], ...]) -> int:
    built = build(model, GraphShape(1, PADDED, PADDED), time_encoder=dict(encoder), **dict(options))
    return sum(parameter.numel() for parameter in built.parameters())
