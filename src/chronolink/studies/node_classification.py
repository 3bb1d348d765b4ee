"""Dynamic node classification: the plan"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ChronolinkError
from ..job import Job, Watcher
from ..paper import published
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table, ranked
from ._grid import settings_for

MODELS, ENCODERS, DATA = ("tgat", "dygformer"), ("cosine", "linear"), ("wikipedia", "reddit")


class NodeClassification(Study):
    """Whether linear time serves the classification of nodes as well."""

    title = "Dynamic node classification"
    about = "AU-ROC of a head on the frozen model, by random negatives."

    def jobs(self, scope: Scope) -> list[Job]:
        cells = [(data, *row) for data in scope.of_data(DATA) for row in _rows(scope)]
        return [_job(*cell, seed) for cell in cells for seed in scope.of_seeds()]

    def findings(self, scope: Scope, out: Path) -> Findings:
        columns = scope.of_data(DATA)

        def cell(data: str, model: str, encoder: str) -> Cell:
            reports = [_job(data, model, encoder, seed).report(out) for seed in scope.of_seeds()]
            found = [100 * float(report["test"]["auc"]) for report in reports if report is not None]
            return Cell.of(found, published("node_classification_test_auroc", model, encoder, data))

        rows = tuple(Row(row, tuple(cell(data, *row) for data in columns)) for row in _rows(scope))
        heads = ("model", "time encoder")
        return Findings((ranked(Table("node-classification", self.title, heads, columns, rows, unit="AU-ROC in %")),))


class _Classification(Job):
    """A training of the head; there is no such task yet."""

    @property
    def title(self) -> str:
        names = ("data", "model", "time_encoder", "seed")
        return "-".join(["nodes", *(str(self.settings[name]) for name in names)])

    @property
    def obstacle(self) -> str | None:
        return "node classification cannot be trained yet"

    def run(self, folder: Path, watcher: Watcher | None) -> dict[str, Any]:  # noqa: ARG002
        raise ChronolinkError(f"{self.title}: {self.obstacle}")


def _rows(scope: Scope) -> list[tuple[str, str]]:
    encoders = scope.of_time_encoders(ENCODERS)
    return [(model, encoder) for model in scope.of_models(MODELS) for encoder in encoders]


def _job(data: str, model: str, encoder: str, seed: int) -> Job:
    options = settings_for(data, model, encoder, "random")
    return _Classification({"data": data, "model": model, "time_encoder": encoder, "options": options, "seed": seed})
