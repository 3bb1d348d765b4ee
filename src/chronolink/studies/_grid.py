"""Tables of AP over models and encoders"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ..errors import ChronolinkError
from ..job import Job
from ..jobs.training import TrainingJob
from ..paper import DATA, published, selected
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table, ranked
from ..training.options import Training

CRITERIA = ("random", "historical")
WHOLE = Scope()
Measure = Callable[[Mapping[str, Any]], float]
HEURISTICS = ("edgebank", "popularity", "recency", "popularity-recency")
FAMILY = ("tgat", "dygformer", "dygformer-separate", "dygdecoder")


class Grid(Study):
    """Model x row x data set, with the settings that the paper selected."""

    models: ClassVar[tuple[str, ...]] = FAMILY
    rows: ClassVar[Mapping[str, str]]  # how the table names a row, and its time encoder
    heuristics: ClassVar[tuple[str, ...]] = ()  # rows that are always there: what is worth having without learning
    data: ClassVar[tuple[str, ...]] = DATA
    criterion: ClassVar[str] = "random"
    published: ClassVar[str]  # the paper's table
    head: ClassVar[str] = "time encoder"
    unit: ClassVar[str] = "AP in %"

    def jobs(self, scope: Scope) -> list[Job]:
        asked = scope.of_data(self.data)
        plain = [_heuristic_job(data, heuristic) for data in asked for heuristic in self.heuristics]
        cells = [(data, *row) for data in asked for row in self._rows(scope)]
        return plain + [self._job(*cell, seed, scope) for cell in cells for seed in self._seeds(scope)]

    def findings(self, scope: Scope, out: Path) -> Findings:
        name = type(self).__module__.rpartition(".")[2].replace("_", "-")
        return Findings((ranked(self._table(name, self.title, scope, out, self.published, self.measure, self.unit)),))

    def measure(self, report: Mapping[str, Any]) -> float:
        """The number of one run that the table averages."""
        return ap(report, self.criterion)

    def _table(
        self, name: str, title: str, scope: Scope, out: Path, paper: str, measure: Measure, unit: str, wins: bool = True
    ) -> Table:
        columns = scope.of_data(self.data)
        rows = tuple(
            Row((model, row), tuple(self._cell(data, model, row, scope, out, paper, measure) for data in columns))
            for model, row in self._rows(scope)
        ) + tuple(
            Row(("nothing learnt", name), tuple(_heuristic_cell(data, name, out, measure) for data in columns))
            for name in self.heuristics
        )
        shown = tuple(Path(data).stem for data in columns)
        return Table(name, title, ("model", self.head), shown, rows, unit=scope.unit(unit), wins=wins)

    def _seeds(self, scope: Scope) -> tuple[int, ...]:
        return scope.of_seeds()

    def _rows(self, scope: Scope) -> list[tuple[str, str]]:
        encoders = scope.of_time_encoders(list(self.rows.values()))
        rows = [row for row, encoder in self.rows.items() if encoder in encoders]
        return [(model, row) for model in scope.of_models(self.models) for row in rows]

    def _job(self, data: str, model: str, row: str, seed: int, scope: Scope) -> Job:
        return paper_job(data, model, self.rows[row], self.criterion, seed, scope)

    def _cell(self, data: str, model: str, row: str, scope: Scope, out: Path, paper: str, measure: Measure) -> Cell:
        reports = [self._job(data, model, row, seed, scope).report(out) for seed in self._seeds(scope)]
        found = [measure(report) for report in reports if report is not None]
        return Cell.of(found, published(paper, model, row, data))


def _heuristic_job(data: str, heuristic: str) -> Job:
    """Of a model that learns nothing, so that every seed finds the same."""
    return TrainingJob.of(data, heuristic, None, {}, Training(select_by=",".join(CRITERIA)))


def _heuristic_cell(data: str, heuristic: str, out: Path, measure: Measure) -> Cell:
    report = _heuristic_job(data, heuristic).report(out)
    return Cell.of([] if report is None else [measure(report)])


def paper_job(
    data: str,
    model: str,
    time_encoder: str,
    criterion: str,
    seed: int,
    scope: Scope = WHOLE,
    width: int | None = None,
    **changes: Any,
) -> TrainingJob:
    """A training with the settings that the paper selected by the criterion, and with these changes.

    Where both criteria selected the same settings, one run serves both. The position encoder takes the cosine's
    settings, and a data set that the paper does not have takes UCI's.
    """
    options = settings_for(data, model, time_encoder, criterion)
    shared = all(_selected(data, model, time_encoder, other) == options for other in CRITERIA)
    encoder = {"name": time_encoder} if width is None else {"name": time_encoder, "width": width}
    training = scope.training(seed, select_by=",".join(CRITERIA) if shared else criterion)
    return TrainingJob.of(data, model, encoder, {**options, **changes}, training)


def settings_for(data: str, model: str, time_encoder: str, criterion: str) -> dict[str, Any]:
    """What the paper selected by the criterion, or, where a smaller table has no such row, by random negatives."""
    encoder = "cosine" if time_encoder == "position" else time_encoder
    found = _selected(data, model, encoder, criterion) or _selected(data, model, encoder, "random")
    if found is None:
        raise ChronolinkError(f"the paper has no settings for {model} with {time_encoder} time")
    return found


def _selected(data: str, model: str, time_encoder: str, criterion: str) -> dict[str, Any] | None:
    known = data if data in DATA else "uci"
    return selected(known, model, time_encoder, criterion)


def ap(report: Mapping[str, Any], criterion: str) -> float:
    """Test AP in per cent of the epoch that the criterion chose, against negatives of the same kind."""
    return 100 * float(report["selected"][criterion]["test"][criterion]["ap"])
