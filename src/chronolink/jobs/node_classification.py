"""A training on links, then on states"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..dataset import load
from ..job import Watcher
from ..run import RunFolder, build_from
from ..tasks.node_classification import NODE_CLASSIFICATION
from ..training.head import HeadTraining
from ..training.node_classification import classify_nodes
from .training import TrainingJob


class NodeClassificationJob(TrainingJob):
    """One training, as `chronolink train --task node-classification` does it."""

    @classmethod
    def after(cls, links: TrainingJob, head: HeadTraining) -> NodeClassificationJob:
        """The links' training, and the head's behind it."""
        return cls({**links.settings, "task": NODE_CLASSIFICATION, "head": asdict(head)})

    @property
    def title(self) -> str:
        return f"nodes-{super().title}"

    def headline(self, report: Mapping[str, Any]) -> str:
        found, chosen = report["test"][NODE_CLASSIFICATION], report["selected"][NODE_CLASSIFICATION]
        return f"AUC {100 * found['auc']:.2f}, epoch {chosen['epoch']} of {len(chosen['epochs'])} of the head"

    def run(self, folder: Path, watcher: Watcher | None) -> dict[str, Any]:
        watch, head = watcher() if watcher else None, HeadTraining.of(self.settings)
        if RunFolder(folder).config.exists():
            model, graph, split = RunFolder(folder).open()
            report = classify_nodes(
                model, graph, self.training, head, out=folder, split=split, watch=watch, resume=True
            )
        else:
            graph = load(self.settings["data"])
            report = classify_nodes(
                build_from(self.settings, graph), graph, self.training, head, out=folder, watch=watch
            )
        return asdict(report)
