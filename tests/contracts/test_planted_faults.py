"""Each contract check fails on a model that breaks it"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.model import LinkModel
from chronolink.query import LinkQuery
from chronolink.time_encoder import Plain
from tests.contracts import checks
from tests.streams import random_graph


class Sound(LinkModel):
    """Keeps the whole contract: a learnt weight times the length of the past, its mean time, and a count of what it
    observed.
    """

    observed: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(()))
        self.time_encoder = Plain()
        self.register_buffer("observed", torch.zeros(()))

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, 50))

    def reset(self) -> None:
        self.observed.zero_()

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        past = history.before(query.source, query.time, 50)
        number = self.time_encoder.measure(past) * past.valid
        return self.weight * (self.past(query, history) + self.observed + self.mean(number))

    def mean(self, number: Tensor) -> Tensor:
        return number.mean(1)

    def past(self, query: LinkQuery, history: History) -> Tensor:
        return history.before(query.source, query.time, 50).valid.sum(1).float()

    def observe(self, events: EventStream, history: History) -> None:  # noqa: ARG002
        self.observed += 0.001 * len(events)


class PeeksAhead(Sound):
    def past(self, query: LinkQuery, history: History) -> Tensor:
        return history.before(query.source, query.time + 1e5, 50).valid.sum(1).float()


class CountsTheEventItself(Sound):
    def past(self, query: LinkQuery, history: History) -> Tensor:
        return history.before(query.source, query.time.nextafter(query.time + 1), 50).valid.sum(1).float()


class ReadsLateFeatures(Sound):
    def past(self, query: LinkQuery, history: History) -> Tensor:
        return history.edge_features.sum() + query.time.float() * 0


class RemembersQuestions(Sound):
    def forward(self, query: LinkQuery, history: History) -> Tensor:
        self.observed += 1
        return super().forward(query, history)


class ComparesWithinTheBatch(Sound):
    def forward(self, query: LinkQuery, history: History) -> Tensor:
        scores = super().forward(query, history)
        return scores - scores.mean()


class ReadsTheClock(Sound):
    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return super().forward(query, history) + (query.time * 1e-9).float()


class RoundsTimes(Sound):
    def mean(self, number: Tensor) -> Tensor:
        return number @ number.new_full((number.shape[1],), 1 / number.shape[1])


class NeverForgets(Sound):
    def reset(self) -> None:
        pass


class HidesItsState(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.rand(())

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return super().forward(query, history) + self.hidden


class ThrowsDice(Sound):
    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return super().forward(query, history) + torch.rand(len(query))


def maker(model: type[LinkModel]) -> checks.Make:
    def make(graph: TemporalGraph, seed: int) -> LinkModel:  # noqa: ARG001
        torch.manual_seed(seed)
        made = model()
        torch.seed()
        return made

    return make


CAUGHT: list[tuple[type[LinkModel], Callable[..., None]]] = [
    (PeeksAhead, checks.the_future_is_invisible),
    (CountsTheEventItself, checks.the_future_is_invisible),
    (ReadsLateFeatures, checks.the_future_is_invisible),
    (RemembersQuestions, checks.asking_changes_nothing),
    (ComparesWithinTheBatch, checks.a_question_is_answered_the_same_in_any_batch),
    (ReadsTheClock, checks.the_clock_has_no_origin),
    (RoundsTimes, checks.half_precision_rounds_no_time),
    (NeverForgets, checks.reset_forgets),
    (HidesItsState, checks.a_checkpoint_restores_the_scores),
    (ThrowsDice, checks.the_same_seed_gives_the_same_run),
]


def run(check: Callable[..., None], model: type[LinkModel], folder: Path) -> None:
    graph = random_graph(400, 25, edge_width=2)
    extra = (folder,) if check is checks.a_checkpoint_restores_the_scores else ()
    check(maker(model), graph, *extra)


@pytest.mark.parametrize(("model", "check"), CAUGHT, ids=[f"{m.__name__}" for m, _ in CAUGHT])
def test_a_planted_fault_is_caught(model: type[LinkModel], check: Callable[..., None], tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run(check, model, tmp_path)


@pytest.mark.parametrize("check", dict.fromkeys(check for _, check in CAUGHT))
def test_a_sound_model_passes_every_check(check: Callable[..., None], tmp_path: Path) -> None:
    run(check, Sound, tmp_path)
