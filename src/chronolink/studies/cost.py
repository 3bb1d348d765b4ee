"""Seconds an epoch and peak memory"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..job import Job
from ..jobs.training import TrainingJob
from ..study import Findings, Scope
from ..table import ranked
from ._grid import Grid, settings_for

EPOCHS = 2  # the first one warms up


class Cost(Grid):
    """What a time encoder costs in training."""

    title = "Training time and memory"
    about = (
        "Seconds of the second epoch and peak memory of the whole process, one run at a time on all cores; the paper's "
        "figures are of its GPU."
    )
    alone = True
    rows = {"cosine": "cosine", "linear": "linear"}  # noqa: RUF012

    def findings(self, scope: Scope, out: Path) -> Findings:
        asked = (
            ("cost-seconds", "Seconds an epoch", "training_seconds_per_epoch_on_paper_gpu", _seconds, "seconds"),
            ("cost-memory", "Peak memory", "peak_gpu_memory_gb", _gigabytes, "GB"),
        )
        tables = (
            self._table(name, title, scope, out, paper, measure, unit, wins=False)
            for name, title, paper, measure, unit in asked
        )
        return Findings(tuple(ranked(table, least=True) for table in tables))

    def _seeds(self, scope: Scope) -> tuple[int, ...]:
        return scope.of_seeds()[:1]

    def _job(self, data: str, model: str, row: str, seed: int, scope: Scope) -> Job:
        encoder = self.rows[row]
        training = replace(scope, epochs=EPOCHS).training(seed, min_epochs=0)
        return TrainingJob.of(data, model, {"name": encoder}, settings_for(data, model, encoder, "random"), training)


def _seconds(report: Mapping[str, Any]) -> float:
    return float(report["cost"]["seconds"][-1])


def _gigabytes(report: Mapping[str, Any]) -> float:
    return float(report["cost"]["peak_memory"]) / 1e9
