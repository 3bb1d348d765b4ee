"""Dynamic node classification: the plan"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ChronolinkError
from ..job import Job, Watcher
from ._grid import Grid, settings_for


class NodeClassification(Grid):
    """Whether linear time serves the classification of nodes as well."""

    title = "Dynamic node classification"
    about = "AU-ROC of a head on the frozen model, by random negatives."
    models = ("tgat", "dygformer")
    rows = {"cosine": "cosine", "linear": "linear"}  # noqa: RUF012
    data = ("wikipedia", "reddit")
    published = "node_classification_test_auroc"
    unit = "AU-ROC in %"

    def measure(self, report: Mapping[str, Any]) -> float:
        return 100 * float(report["test"]["auc"])

    def _job(self, data: str, model: str, row: str, seed: int, epochs: int | None) -> Job:  # noqa: ARG002
        encoder = self.rows[row]
        options = settings_for(data, model, encoder, "random")
        settings = {"data": data, "model": model, "time_encoder": encoder, "options": options, "seed": seed}
        return _Classification(settings)


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
