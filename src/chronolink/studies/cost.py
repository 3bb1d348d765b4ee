"""Seconds an epoch and peak memory"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..job import Job
from ..jobs.training import TrainingJob
from ..paper import DATA, published
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table, ranked
from ..training.options import Training
from ._grid import FAMILY, settings_for

ENCODERS = ("cosine", "linear")
EPOCHS = 2  # the first one warms up


class Cost(Study):
    """What a time encoder costs in training."""

    title = "Training time and memory"
    about = (
        "Seconds of the second epoch and peak memory of the whole process, one run at a time on all cores; the paper's "
        "figures are of its GPU."
    )
    alone = True

    def jobs(self, scope: Scope) -> list[Job]:
        cells = [(data, *row) for data in scope.of_data(DATA) for row in _rows(scope)]
        return [_job(*cell, seed) for cell in cells for seed in scope.of_seeds()[:1]]

    def findings(self, scope: Scope, out: Path) -> Findings:
        seconds = _table("seconds", "Seconds an epoch", "training_seconds_per_epoch_on_paper_gpu", _seconds, scope, out)
        memory = _table("memory", "Peak memory", "peak_gpu_memory_gb", _gigabytes, scope, out)
        return Findings((seconds, memory))


def _rows(scope: Scope) -> list[tuple[str, str]]:
    encoders = scope.of_time_encoders(ENCODERS)
    return [(model, encoder) for model in scope.of_models(FAMILY) for encoder in encoders]


def _job(data: str, model: str, encoder: str, seed: int) -> Job:
    options = settings_for(data, model, encoder, "random")
    training = Training(seed=seed, epochs=EPOCHS, min_epochs=0)
    return TrainingJob.of(data, model, {"name": encoder}, options, training)


def _table(
    name: str, title: str, paper: str, measure: Callable[[Mapping[str, Any]], float], scope: Scope, out: Path
) -> Table:
    columns = scope.of_data(DATA)

    def cell(data: str, model: str, encoder: str) -> Cell:
        reports = [_job(data, model, encoder, seed).report(out) for seed in scope.of_seeds()[:1]]
        found = [measure(report) for report in reports if report is not None]
        return Cell.of(found, published(paper, model, encoder, data))

    rows = tuple(Row(row, tuple(cell(data, *row) for data in columns)) for row in _rows(scope))
    unit = "seconds" if name == "seconds" else "GB"
    table = Table(f"cost-{name}", title, ("model", "time encoder"), columns, rows, unit=unit, wins=False)
    return ranked(table, least=True)


def _seconds(report: Mapping[str, Any]) -> float:
    return float(report["cost"]["seconds"][-1])


def _gigabytes(report: Mapping[str, Any]) -> float:
    return float(report["cost"]["peak_memory"]) / 1e9
