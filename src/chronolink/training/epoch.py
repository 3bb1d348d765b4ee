"""The one loop that meets a model"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional as F

from ..allocator import give_back
from ..errors import ChronolinkError
from ..events import EventStream
from ..history import History
from ..layers.dropout import reseed
from ..model import LinkModel
from ..negatives import BLOCK
from ..query import LinkQuery
from ..tasks.link_prediction import Questions, Scores

Advance = Callable[[int, float], None]
KEPT_STEPS = 16  # after so many, buffers that fitted none of them are given back


def quietly(events: int, loss: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Learner:
    """One step of gradient descent a batch; `seed` and `epoch` decide every dropout mask."""

    optimizer: torch.optim.Optimizer
    seed: int
    epoch: int

    def step(self, model: LinkModel, loss: Tensor, accelerator: Accelerator) -> None:
        self.optimizer.zero_grad()
        if loss.requires_grad:
            accelerator.backward(loss)
        _sum_gradients(model, accelerator)
        self.optimizer.step()


def run_epoch(
    model: LinkModel,
    questions: Questions,
    history: History,
    accelerator: Accelerator,
    batch_size: int = BLOCK,
    ask_at_once: int | None = None,
    learner: Learner | None = None,
    advance: Advance = quietly,
) -> tuple[Scores, float]:
    """Asks all questions in time order; returns the scores and the mean loss.

    The model observes what lies before the questions, then `batch_size` events at a time, each batch after it was
    asked about it. A learner makes one step a batch. Without one, `ask_at_once` events and their negatives are asked
    together: how many changes no answer. Every process asks its share of a batch and observes the whole.
    """
    model.train(learner is not None)
    _observe_before(model, questions.events, history)
    size, each = len(questions.events), questions.each
    rank, processes = accelerator.process_index, accelerator.num_processes
    scores = torch.zeros(size, 1 + each, device=accelerator.device)
    total = torch.zeros((), dtype=torch.float64, device=accelerator.device)
    for number, start in enumerate(range(0, size, batch_size)):
        block = questions.block(start, start + batch_size)
        if learner is not None:
            reseed(model, learner.seed, learner.epoch, number)
        with torch.set_grad_enabled(learner is not None), accelerator.autocast():
            logits = _ask_all(model, block.share(rank, processes), history, None if learner else ask_at_once)
            loss = _loss(logits) / (len(block.events) * (1 + each))
        if learner is not None:
            learner.step(model, loss, accelerator)
        scores[start + rank : start + len(block.events) : processes] = logits.detach()
        total += loss.detach() * len(block.events)
        model.observe(block.events, history)
        if number % KEPT_STEPS == KEPT_STEPS - 1:
            give_back()
        advance(len(block.events), float(loss.detach()) * processes)
    scores, total = accelerator.reduce(scores, "sum"), accelerator.reduce(total, "sum")
    if not bool(scores.isfinite().all()):
        raise ChronolinkError("scores are infinite or not numbers; lower the learning rate, or scale the features")
    return Scores(scores[:, 0], scores[:, 1:]), float(total) / max(size, 1)


def _observe_before(model: LinkModel, events: EventStream, history: History) -> None:
    """Brings a model's own memory to the moment of the first question, in the blocks it is used to."""
    model.reset()
    stream = history.graph.events
    past = stream[: int(history.position(events.time[:1]))] if len(events) else stream[:0]
    for start in range(0, len(past), BLOCK):
        model.observe(past[start : start + BLOCK], history)


def _ask_all(model: LinkModel, questions: Questions, history: History, at_once: int | None) -> Tensor:
    """Logits [events, 1 + each], asked together or in pieces."""
    size = len(questions.events)
    step = max(at_once or size, 1)
    pieces = [questions.block(start, start + step) for start in range(0, size, step)]
    none = torch.empty(0, 1 + questions.each, device=questions.events.time.device)
    return torch.cat([none, *(_ask(model, piece, history).float() for piece in pieces)])


def _ask(model: LinkModel, questions: Questions, history: History) -> Tensor:
    """Logits [events, 1 + each]: the event itself first, then its negatives."""
    events = questions.events
    logits: Tensor = model(LinkQuery.of(events) + questions.negatives, history)
    positive, negative = logits.split([len(events), len(events) * questions.each])
    return torch.cat([positive.unsqueeze(1), negative.view(len(events), questions.each)], dim=1)


def _loss(logits: Tensor) -> Tensor:
    """Binary cross entropy, summed: the first column happened."""
    happened = torch.zeros_like(logits)
    happened[:, 0] = 1.0
    return F.binary_cross_entropy_with_logits(logits, happened, reduction="sum")


def _sum_gradients(model: LinkModel, accelerator: Accelerator) -> None:
    """Adds up the processes' gradients, in one message: these models are small, and a process may have no question."""
    if accelerator.num_processes == 1:
        return
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in learnt]
    summed = accelerator.reduce(torch.cat([part.flatten() for part in parts]), "sum")
    for parameter, part in zip(learnt, summed.split([p.numel() for p in learnt]), strict=True):
        parameter.grad = part.view_as(parameter)
