"""A training on synthetic event sequences"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ..job import Job, Watcher
from ..models._sequence_classifier import KINDS
from ..report import versions
from ..training.event_sequences import SequenceTraining, classify


class EventSequencesJob(Job):
    """One configuration with all its seeds, which are trained at once."""

    @classmethod
    def of(
        cls, attention: str, time_encoder: str, width: int, layers: int, seeds: Sequence[int], epochs: int
    ) -> EventSequencesJob:
        chosen = {"attention": attention, "time_encoder": time_encoder, "width": width, "layers": layers}
        return cls({**chosen, "seeds": list(seeds), "epochs": epochs})

    @property
    def title(self) -> str:
        chosen = [str(self.settings[name]) for name in ("attention", "time_encoder", "width")]
        return "-".join(["sequences", *chosen, f"{self.settings['layers']}layers"])

    def headline(self, report: Mapping[str, Any]) -> str:
        runs = report["runs"]
        ours, oracle = (fmean(run[name] for run in runs) for name in ("test_accuracy", "oracle_accuracy"))
        return f"accuracy {100 * ours:.2f} (oracle {100 * oracle:.2f}), {len(runs)} runs"

    def run(self, folder: Path, watcher: Watcher | None) -> dict[str, Any]:  # noqa: ARG002
        asked = self.settings
        runs = classify(
            KINDS[asked["attention"]],
            asked["time_encoder"],
            asked["width"],
            asked["layers"],
            asked["seeds"],
            training=SequenceTraining(epochs=asked["epochs"]),
        )
        return {"settings": dict(asked), "versions": versions(), "runs": runs}
