"""A head learnt on fixed embeddings"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor
from torch.nn import functional as F

from ..errors import ChronolinkError, at_least_one
from ..files import write_whole
from ..layers.dropout import Dropout, reseed
from ..layers.state_head import StateHead
from ..negatives import BLOCK
from ..tasks.node_classification import NodeClassification
from ..tensors import read_tensors
from .epoch import Advance, quietly


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTraining:
    """How a head on the frozen model learns states; the defaults are the benchmark's.

    Args:
        epochs: at most so many.
        patience: stop after so many epochs without a better validation AUC.
        batch_size: events a training step.
        learning_rate: of Adam.
        dropout: share of the head's hidden entries that a training step leaves out.
    """

    epochs: int = 100
    patience: int = 20
    batch_size: int = BLOCK
    learning_rate: float = 1e-4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        counts = ("epochs", "patience", "batch_size")
        at_least_one(**{f"head.{name}": getattr(self, name) for name in counts})
        if not self.learning_rate > 0:
            raise ChronolinkError(f"head.learning_rate is {self.learning_rate}; it must be above 0")
        Dropout(self.dropout)  # refuses what is no share

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> HeadTraining:
        """The head's among all settings of a run."""
        if not isinstance(settings.get("head"), Mapping):
            raise ChronolinkError("the settings say nothing of 'head'; bring config.yaml back as train wrote it")
        return cls(
            **{field.name: settings["head"][field.name] for field in fields(cls) if field.name in settings["head"]}
        )


@dataclass(slots=True)
class TrainedHead:
    """The head of the epoch with the highest validation AUC, and what every epoch brought."""

    head: StateHead
    epoch: int = 0
    auc: float = -1.0  # on the validation events
    epochs: list[dict[str, float]] = field(default_factory=list)


def train_head(
    rows: Tensor, task: NodeClassification, options: HeadTraining, seed: int, advance: Advance = quietly
) -> TrainedHead:
    """Adam on binary cross entropy over the training events in time order, until validation gets no better.

    rows [events, width] are the embeddings of all events; the seed decides the first weights and the dropout.
    """
    head = _made(rows, options.dropout, seed)
    optimizer = torch.optim.Adam(head.parameters(), lr=options.learning_rate)
    found, weights = TrainedHead(head), head.state_dict()
    while len(found.epochs) < min(options.epochs, found.epoch + options.patience):
        number = len(found.epochs) + 1
        reseed(head, seed, number)
        loss = _epoch(head, optimizer, rows, task, options.batch_size)
        auc = task.judge("validation", answers(head, rows, task.part("validation")))["auc"]
        found.epochs.append({"epoch": number, "loss": loss, "validation_auc": auc})
        if auc > found.auc:
            found.epoch, found.auc = number, auc
            weights = {name: value.clone() for name, value in head.state_dict().items()}
        advance(task.part("train").stop, loss)
    head.load_state_dict(weights)
    return found


@torch.no_grad()
def answers(head: StateHead, rows: Tensor, part: slice) -> Tensor:
    """Logits of a part's events, the higher the likelier state 1."""
    return head.eval()(rows[part], _keys(rows, part))  # type: ignore[no-any-return]


def keep_head(head: StateHead, run: Path) -> None:
    write_whole(_weights(run), save({name: value.cpu().contiguous() for name, value in head.state_dict().items()}))


def load_head(run: Path | str) -> StateHead:
    """The head that a finished run keeps."""
    path = _weights(Path(run))
    if not path.exists():
        raise ChronolinkError(f"{run} holds no head (no {path.name} there); give the folder of a node classification")
    weights, _ = read_tensors(path)
    head = StateHead(weights["first.weight"].shape[1], dropout=0.0)
    head.load_state_dict(weights)
    return head.eval()


def _made(rows: Tensor, dropout: float, seed: int) -> StateHead:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return StateHead(rows.shape[1], dropout).to(rows.device)


def _epoch(
    head: StateHead, optimizer: torch.optim.Optimizer, rows: Tensor, task: NodeClassification, batch_size: int
) -> float:
    """One pass over the training events, and its mean loss."""
    head.train()
    end: int = task.part("train").stop
    total = torch.zeros((), dtype=torch.float64, device=rows.device)
    for start in range(0, end, batch_size):
        batch = slice(start, min(start + batch_size, end))
        logits = head(rows[batch], _keys(rows, batch))
        loss = F.binary_cross_entropy_with_logits(logits, task.state[batch].to(logits.dtype))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(logits)
    return float(total) / end


def _keys(rows: Tensor, part: slice) -> Tensor:
    """An event's place in the stream: its dropout in an epoch belongs to it, whatever the batch."""
    return torch.arange(part.start, part.stop, device=rows.device)


def _weights(run: Path) -> Path:
    return run / "head.safetensors"
