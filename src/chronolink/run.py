"""A run is a folder"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from safetensors.torch import save
from torch import Tensor

from .build import build
from .calibration import Calibration
from .dataset import datasets, load
from .errors import ChronolinkError
from .events import TemporalGraph
from .files import read_json, read_yaml, write_json, write_whole
from .model import LinkModel
from .read import Columns
from .report import Report
from .split import Split
from .tensors import read_tensors

log = logging.getLogger("chronolink")


class RunFolder:
    """config.yaml, split.json, metrics.jsonl, checkpoint.safetensors while it lasts, model.safetensors, report.json."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.split = self.path / "split.json"
        self.metrics = self.path / "metrics.jsonl"
        self.checkpoint = self.path / "checkpoint.safetensors"
        self.report = self.path / "report.json"

    def weights(self, criterion: str = "") -> Path:
        """The best weights; of the first criterion without a name."""
        return self.path / f"model{'-' * bool(criterion)}{criterion}.safetensors"

    def create(self, config: Mapping[str, Any], graph: TemporalGraph, split: Split) -> None:
        """Lays the folder out; one that holds a run is left alone."""
        if self.config.exists():
            raise ChronolinkError(
                f"{self.path} holds a run already; go on with it by `chronolink train --resume {self.path}`, "
                "or choose another folder"
            )
        present = sorted(path.name for path in self.path.glob("[!.]*")) if self.path.is_dir() else []
        others = [name for name in present if name != self.split.name]
        if others:
            raise ChronolinkError(f"{self.path} holds other files ({others[0]}); choose another folder for the run")
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.split, {**split.as_json(), "digest": split.digest(), "data_digest": graph.digest()})
        write_whole(self.config, yaml.safe_dump(dict(config), sort_keys=False))
        if graph.origin is None:
            log.warning(
                "%s will keep no events, as they were given in memory; to open it later `load` a file", self.path
            )

    def record(self, records: list[dict[str, Any]]) -> None:
        write_whole(self.metrics, "".join(json.dumps(record) + "\n" for record in records))

    def keep(self, weights: Mapping[str, Tensor], criterion: str = "") -> None:
        write_whole(self.weights(criterion), save({name: value.cpu().contiguous() for name, value in weights.items()}))

    def settings(self) -> dict[str, Any]:
        if not self.config.exists():
            raise ChronolinkError(f"{self.path} holds no run (no config.yaml there); give the folder that train wrote")
        settings = read_yaml(self.config)
        for key in ("data", "model", "seed"):
            if key not in settings:
                raise ChronolinkError(f"{self.config} says nothing of '{key}'; bring it back as train wrote it")
        return settings

    def open(self) -> tuple[LinkModel, TemporalGraph, Split]:
        """The run's model with its first weights, the data and the split, all as they were at its start."""
        settings = self.settings()
        kept = read_json(self.split)
        self._refuse_memory(settings["data"])
        graph = load(settings["data"], **{key: settings[key] for key in Columns.__annotations__ if key in settings})
        if graph.digest() != kept["data_digest"]:
            raise ChronolinkError(
                f"{settings['data']} has changed since {self.path} was begun; bring the old file back"
            )
        return build_from(settings, graph), graph, Split.from_json(kept)

    def _refuse_memory(self, data: str) -> None:
        if not Path(data).is_absolute() and data not in {known.name for known in datasets()}:
            raise ChronolinkError(
                f"{self.path} was trained on events in memory, which it does not keep; write them to a file, "
                "`chronolink.load` that and train on it"
            )

    def calibration(self) -> Calibration:
        """What makes scores probabilities; scores are log-odds where no report tells."""
        return Calibration.of(Report.read(self.report).calibration if self.report.exists() else {})

    def load_weights(self, model: LinkModel, criterion: str = "") -> None:
        if not self.weights(criterion).exists():
            raise ChronolinkError(
                f"{self.path} holds no weights yet; finish it by `chronolink train --resume {self.path}`"
            )
        weights, _ = read_tensors(self.weights(criterion))
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            raise ChronolinkError(
                f"{self.weights(criterion)} does not fit {self.config}; both must be of one run"
            ) from error


def build_from(settings: Mapping[str, Any], graph: TemporalGraph) -> LinkModel:
    """The model that a configuration describes."""
    model = dict(settings["model"])
    encoder = settings.get("time_encoder") or "linear"
    return build(model.pop("name"), graph, time_encoder=encoder, seed=settings["seed"], **model)
