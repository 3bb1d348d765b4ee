"""A training of a link model"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..catalogue import members, plain
from ..dataset import canonical, load
from ..job import Job, Watcher
from ..run import RunFolder, build_from
from ..training.fit import fit
from ..training.options import Training


class TrainingJob(Job):
    """One training, as `chronolink train` does it."""

    @classmethod
    def of(
        cls,
        data: str,
        model: str,
        time_encoder: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        training: Training,
    ) -> TrainingJob:
        """A model without a time encoder is given None."""
        encoder = {**time_encoder, "name": plain(time_encoder["name"])} if time_encoder else None
        return cls(
            {
                "data": canonical(data),
                "model": {"name": plain(model), **options},
                **({"time_encoder": encoder} if encoder else {}),
                **asdict(training),
            }
        )

    @property
    def title(self) -> str:
        parts = (self.settings["model"], *([self.settings["time_encoder"]] if "time_encoder" in self.settings else []))
        names = (Path(self.settings["data"]).stem, *(part["name"] for part in parts))
        return "-".join([*(name.replace("_", "-") for name in names), str(self.settings["seed"])])

    @property
    def obstacle(self) -> str | None:
        name = self.settings["model"]["name"]
        return super().obstacle if name in members("models") else f"there is no model named {name} yet"

    @property
    def training(self) -> Training:
        return Training.of(self.settings)

    def headline(self, report: Mapping[str, Any]) -> str:
        chosen = report["selected"].items()
        found = ", ".join(f"AP {100 * value['test'][name]['ap']:.2f} ({name})" for name, value in chosen)
        seconds = sum(report["cost"]["seconds"])
        return f"{found}, {len(report['epochs'])} epochs, {seconds / 60:.0f} min of training"

    def run(self, folder: Path, watcher: Watcher | None) -> dict[str, Any]:
        watch = watcher() if watcher else None
        if RunFolder(folder).config.exists():
            model, graph, split = RunFolder(folder).open()
            return asdict(fit(model, graph, self.training, out=folder, split=split, watch=watch, resume=True))
        graph = load(self.settings["data"])
        return asdict(fit(build_from(self.settings, graph), graph, self.training, out=folder, watch=watch))
