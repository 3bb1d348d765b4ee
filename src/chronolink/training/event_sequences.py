"""Training classifiers of event sequences, stacked"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ..build import build_time_encoder
from ..catalogue import plain
from ..draws import fold
from ..errors import ChronolinkError, at_least_one
from ..history import Neighbours
from ..layers.dropout import Dropout
from ..layers.side_by_side import Dropouts, Masks
from ..report import versions
from ..sequence_model import SequenceModel, row_keys, with_asked
from ..tasks.event_sequences import EventSequences, Process, draw

Report = dict[str, Any]
STRETCH = 8  # batches whose masks are drawn at once


@dataclass(frozen=True, slots=True)
class SequenceTraining:
    """Adam on binary cross entropy; the weights with the lowest validation loss are tested."""

    learning_rate: float = 1e-3
    batch_size: int = 32
    epochs: int = 500
    patience: int = 20  # epochs without a lower validation loss
    dropout: float = 0.1

    def __post_init__(self) -> None:
        at_least_one(batch_size=self.batch_size, epochs=self.epochs, patience=self.patience)


def classify(
    kind: type[SequenceModel],
    encoder: str = "linear",
    width: int = 2,
    layers: int = 1,
    seeds: Iterable[int] = range(1, 11),
    process: Process | None = None,
    training: SequenceTraining | None = None,
) -> list[Report]:
    """Trains one configuration once a seed, all seeds at once, and returns a report a seed.

    A run's seed decides its sequences as well as its first weights, its batches and its dropout. So the spread over
    runs is that of the whole experiment, the oracle is averaged over as many test sets as the models are, and two
    configurations with the same seeds are compared on the same sequences. The same seeds give the same reports; in
    other company a run differs by rounding, which training amplifies.
    """
    process, training, seeds = process or Process(), training or SequenceTraining(), list(seeds)
    if len(set(seeds)) < max(len(seeds), 1):
        raise ChronolinkError(f"seeds are {seeds}; give at least one, each once")
    models = [_made(kind, seed, encoder, width, layers, training.dropout) for seed in seeds]
    runs = [_Run(seed, model, draw(seed, process)) for seed, model in zip(seeds, models, strict=True)]
    selection = _Stack(runs, training).train()
    chosen = {"attention": kind.name, "time_encoder": plain(encoder), "width": width, "layers": layers}
    shared = {"settings": {**chosen, **asdict(training), "process": asdict(process)}, "versions": versions()}
    return [{**shared, "seed": run.seed, **selection.of(place), **run.test()} for place, run in enumerate(runs)]


class _Run:
    """A model and its sequences: all that one seed decides."""

    def __init__(self, seed: int, model: SequenceModel, sequences: EventSequences) -> None:
        self.seed, self.model = seed, model
        self.train, self.validation, self.tested = sequences.parts()
        model.time_encoder.fit(_past(self.train))

    def numbers(self, sequences: EventSequences) -> tuple[Tensor, Tensor, Tensor]:
        """What the encoder encodes, the features, both [sequences, rows], and the labels as numbers."""
        number = self.model.time_encoder.number(with_asked(sequences.elapsed))
        return number, with_asked(sequences.feature).to(number.dtype), sequences.label.to(number.dtype)

    @torch.no_grad()
    def test(self) -> Report:
        """What the selected weights make of the test sequences, and what the oracle does.

        With one layer whose last row is read, also the mean attention by event: `learnt` is that row's over the
        events, leaving out what it pays to itself, so that it sums to 1 as the `true` attention of the labels does.
        """
        model, tested, seen = self.model.eval(), self.tested, []
        softmax = model.get_submodule("layers.0.attention")
        handle = softmax.register_forward_hook(lambda _module, _scores, shares: seen.append(shares))
        logits = model(tested.elapsed, tested.feature, torch.arange(len(tested)))
        handle.remove()
        accuracy = float(((logits > 0) == tested.label).double().mean())
        report = {"test_accuracy": accuracy, "oracle_accuracy": tested.oracle(), "parameters": _count(model)}
        if len(model.layers) > 1 or not model.reads_last:
            return report
        learnt = seen[0][0, :, -1, :-1].double()
        learnt = (learnt / learnt.sum(1, keepdim=True)).mean(0).tolist()
        return {**report, "mean_attention": {"learnt": learnt, "true": tested.true_attention().mean(0).tolist()}}


class _Selection:
    """The best epoch of every run so far."""

    def __init__(self, runs: int, patience: int, weights: Tensor) -> None:
        self.patience, self.weights = patience, weights.clone()
        self.loss = torch.full((runs,), torch.inf, dtype=torch.float64)
        self.best, self.last = torch.zeros(2, runs, dtype=torch.int64)

    def consider(self, running: Tensor, epoch: int, loss: Tensor, weights: Tensor) -> Tensor:
        """Takes up what is better; returns which of the running runs go on."""
        better = loss < self.loss[running]
        improved = running[better]
        self.loss[improved], self.best[improved] = loss[better], epoch
        self.weights[improved], self.last[running] = weights[better], epoch
        going: Tensor = epoch - self.best[running] < self.patience
        return going

    def of(self, run: int) -> Report:
        epochs = {"epochs": int(self.last[run]), "best_epoch": int(self.best[run])}
        return {**epochs, "validation_loss": float(self.loss[run])}


class _Stack:
    """The runs still under way, their parameters stacked in one tensor.

    No run sees another: each has its own sequences, batches and masks, and Adam works entry by entry. A run that is
    over leaves the stack.
    """

    def __init__(self, runs: Sequence[_Run], training: SequenceTraining) -> None:
        self.runs, self.training, self.model = runs, training, runs[0].model
        stacked = torch.stack([parameters_to_vector(run.model.parameters()) for run in runs]).detach()
        self.weights = nn.Parameter(stacked)  # [running, parameters]
        self.optimizer = torch.optim.Adam([self.weights], lr=training.learning_rate, fused=True)
        self.shapes = {name: tuple(parameter.shape) for name, parameter in self.model.named_parameters()}
        self.sizes = [parameter.numel() for parameter in self.model.parameters()]
        self.sites = [module for module in self.model.modules() if isinstance(module, Dropout)]
        self.running = torch.arange(len(runs))
        self.seed = torch.tensor([run.seed for run in runs])
        self.train_columns = _stacked([run.numbers(run.train) for run in runs])
        self.validation_columns = _stacked([run.numbers(run.validation) for run in runs])
        self.key = row_keys(torch.arange(len(runs[0].train)), self.train_columns[0].shape[2])

    def train(self) -> _Selection:
        """Epochs until every run has its best; the models are left with its weights."""
        selection = _Selection(len(self.runs), self.training.patience, self.weights.detach())
        for epoch in range(1, self.training.epochs + 1):
            self.learn(epoch)
            going = selection.consider(self.running, epoch, self.validate(), self.weights.detach())
            if not going.any():
                break
            self.keep(going)
        for run, weights in zip(self.runs, selection.weights, strict=True):
            vector_to_parameters(weights, run.model.parameters())
        return selection

    def learn(self, epoch: int) -> None:
        """One pass over the training sequences, for each run in an order of its own."""
        order = torch.stack([_order(int(seed), epoch, len(self.key)) for seed in self.seed])
        row = torch.arange(len(order)).unsqueeze(1)
        columns = [column[row, order] for column in self.train_columns]
        size = self.training.batch_size
        for start in range(0, len(self.key), STRETCH * size):
            stretch = slice(start, start + STRETCH * size)
            dropouts = self.dropouts(epoch, start // size, self.key[order[:, stretch]])
            whole = [column[:, stretch].split(size, dim=1) for column in columns]
            for batch in zip(*whole, self.model.masks(dropouts, size), strict=True):
                self.step(*batch)

    def step(self, number: Tensor, feature: Tensor, label: Tensor, masks: Sequence[Masks]) -> None:
        logits = self.model.side_by_side(self.named(), number, feature, masks)
        loss = F.binary_cross_entropy_with_logits(logits, label, reduction="none")
        self.weights.grad = None
        loss.mean(1).sum().backward()  # each run's gradient is that of its own loss
        self.optimizer.step()

    def dropouts(self, epoch: int, first: int, key: Tensor) -> Dropouts:
        """For the batches from the first one on what `reseed(model, seed, epoch, step)` gives the model of each run."""
        step = first + torch.arange(key.shape[1]) // self.training.batch_size
        site = torch.arange(len(self.sites))
        seed = fold(self.seed.view(-1, 1, 1), epoch, step.unsqueeze(1), site)
        return Dropouts(seed, key, self.sites[0].dropped)

    @torch.no_grad()
    def validate(self) -> Tensor:
        """Mean losses, [running] float64."""
        number, feature, label = self.validation_columns
        logits = self.model.side_by_side(self.named(), number, feature, [None] * len(self.model.layers))
        return F.binary_cross_entropy_with_logits(logits.double(), label.double(), reduction="none").mean(1)

    def named(self) -> dict[str, Tensor]:
        """The parameters by name, [running, ...] each."""
        pieces = self.weights.split(self.sizes, dim=1)
        named = zip(self.shapes.items(), pieces, strict=True)
        return {name: piece.view(-1, *shape) for (name, shape), piece in named}

    def keep(self, going: Tensor) -> None:
        """Lets go of the runs that are over."""
        if going.all():
            return
        state = self.optimizer.state[self.weights]
        state |= {name: value[going] for name, value in state.items() if value.dim()}
        self.weights.grad, self.weights.data = None, self.weights.data[going]
        self.running, self.seed = self.running[going], self.seed[going]
        self.train_columns = [column[going] for column in self.train_columns]
        self.validation_columns = [column[going] for column in self.validation_columns]


def _made(kind: type[SequenceModel], seed: int, encoder: str, width: int, layers: int, dropout: float) -> SequenceModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return kind(build_time_encoder(encoder, width=width), layers=layers, dropout=dropout)


def _past(sequences: EventSequences) -> Neighbours:
    """The events as the past of the asked moments, for the encoder to fit its scale on."""
    none = torch.zeros_like(sequences.time, dtype=torch.int64)
    return Neighbours(none, none, sequences.time, sequences.elapsed, torch.ones_like(none, dtype=torch.bool))


def _order(seed: int, epoch: int, count: int) -> Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(int(fold(seed, epoch))))


def _stacked(columns: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    return [torch.stack(column) for column in zip(*columns, strict=True)]


def _count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
