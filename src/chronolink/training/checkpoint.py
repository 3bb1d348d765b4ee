"""All of a run's state in one file"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from ..files import write_whole
from ..model import LinkModel
from ..tensors import read_tensors
from .selection import Selection

Record = dict[str, Any]


@dataclass(slots=True)
class Progress:
    """How far training has come: a record an epoch, and the best weights by each criterion."""

    selections: list[Selection]
    records: list[Record] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        return len(self.records)

    @property
    def over(self) -> bool:
        return all(selection.over for selection in self.selections)


def save_checkpoint(path: Path, model: LinkModel, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Model, optimizer and progress; the file is replaced as a whole, so a kill leaves the old or the new one."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
    for selection in progress.selections:
        tensors |= {f"best.{selection.criterion}.{name}": value for name, value in selection.weights.items()}
    kept = [{key: getattr(s, key) for key in _KEPT} for s in progress.selections]
    state = {"records": progress.records, "selections": kept}
    write_whole(
        path, save({name: value.cpu().contiguous() for name, value in tensors.items()}, {"state": json.dumps(state)})
    )


def load_checkpoint(path: Path, model: LinkModel, optimizer: torch.optim.Optimizer) -> Progress:
    tensors, notes = read_tensors(path)
    state = json.loads(notes["state"])
    model.load_state_dict(_below("model.", tensors))
    _restore(optimizer, _below("optimizer.", tensors))
    selections = [
        Selection(**kept, weights=_below(f"best.{kept['criterion']}.", tensors)) for kept in state["selections"]
    ]
    return Progress(selections, state["records"])


_KEPT = ("criterion", "epoch", "ap", "waited", "over")


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
