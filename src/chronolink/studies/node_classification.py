"""The table of dynamic node classification"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..job import Job
from ..jobs.node_classification import NodeClassificationJob
from ..jobs.training import TrainingJob
from ..study import Scope
from ..tasks.node_classification import NODE_CLASSIFICATION
from ..training.head import HeadTraining
from ._grid import Grid, settings_for


class NodeClassification(Grid):
    """Whether linear time serves the classification of nodes as well."""

    title = "Dynamic node classification"
    about = "Test AU-ROC of a head on the frozen model, which was trained on links and chosen by random negatives."
    models = ("tgat", "dygformer")
    rows = {"cosine": "cosine", "linear": "linear"}  # noqa: RUF012
    data = ("wikipedia", "reddit")
    published = "node_classification_test_auroc"
    unit = "AU-ROC in %"

    def measure(self, report: Mapping[str, Any]) -> float:
        return 100 * float(report["test"][NODE_CLASSIFICATION]["auc"])

    def _job(self, data: str, model: str, row: str, seed: int, scope: Scope) -> Job:
        encoder = self.rows[row]
        options = settings_for(data, model, encoder, self.criterion)
        training = scope.training(seed, select_by=self.criterion)
        links = TrainingJob.of(data, model, {"name": encoder}, options, training)
        return NodeClassificationJob.after(links, HeadTraining(dropout=options["dropout"]))
