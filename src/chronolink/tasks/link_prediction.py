"""Future links: the questions, the judge"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import torch
from torch import Tensor

from ..calibration import UNCALIBRATED, Bins, Calibration, reliability
from ..events import EventStream, TemporalGraph
from ..history import History
from ..metrics import Floats, ranking, reciprocal_ranks, trust
from ..negatives import Negatives, NegativesName, RandomNegatives, negatives_named
from ..query import LinkQuery
from ..split import Split

Part = Literal["validation", "test"]
SEEDS: dict[Part, int] = {"validation": 0, "test": 2}  # evaluation asks the same questions every time


@dataclass(frozen=True, slots=True)
class Questions:
    """Events that happened, and beside each of them as many links that did not."""

    events: EventStream
    negatives: LinkQuery  # [events * each], an event's own negatives side by side
    each: int = 1

    def block(self, start: int, stop: int) -> Questions:
        return Questions(self.events[start:stop], self.negatives[start * self.each : stop * self.each], self.each)

    def share(self, rank: int, of: int) -> Questions:
        """Every `of`-th event with its negatives."""
        if of == 1:
            return self
        device = self.events.time.device
        mine = torch.arange(rank, len(self.events), of, device=device)
        beside = (mine[:, None] * self.each + torch.arange(self.each, device=device)).flatten()
        return Questions(self.events[mine], self.negatives[beside], self.each)


@dataclass(frozen=True, slots=True)
class Scores:
    """Logits of the events and of their negatives."""

    positive: Tensor  # [events]
    negative: Tensor  # [events, each]

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        return self.positive.cpu().numpy(), self.negative.cpu().numpy()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the scores are worth: over all events, and over those that touch an unseen node, if there are any."""

    all: dict[str, float]
    unseen: dict[str, float] | None
    reliability: Mapping[str, Bins] = field(default_factory=dict)  # over all events, before and after calibration

    def __or__(self, other: Verdict) -> Verdict:
        """Both verdicts on one part."""
        unseen = {**(self.unseen or {}), **(other.unseen or {})}
        return Verdict(self.all | other.all, unseen or None, {**self.reliability, **other.reliability})


class LinkPrediction:
    """Which links come next, asked of a split stream as the benchmark does (Poursafaei et al. 2022; DyGLib).

    Training looks up histories among the training events; validation and test in the whole stream, each question
    in what lies strictly before its own time.
    """

    def __init__(self, graph: TemporalGraph, split: Split) -> None:
        self.graph, self.split = graph, split
        self.train = split.train(graph.events)
        self._random_train = RandomNegatives(self.train, graph.num_nodes)
        self._parts = {"validation": split.validation(graph.events), "test": split.test(graph.events)}
        self._unseen = {name: split.touches_unseen(graph.events, part) for name, part in self._parts.items()}
        self._asked: dict[tuple[Part, NegativesName], Questions] = {}

    @cached_property
    def train_history(self) -> History:
        return History(self.graph.cut(self.train))

    @cached_property
    def history(self) -> History:
        return History(self.graph)

    def part(self, part: Part) -> EventStream:
        return self._parts[part]

    def training_questions(self, seed: int, epoch: int) -> Questions:
        return Questions(self.train, self._random_train.beside(self.train, seed, epoch))

    def questions(self, part: Part, negatives: NegativesName) -> Questions:
        """The same every time, so drawn once."""
        if (part, negatives) not in self._asked:
            events = self.part(part)
            drawn = self._negatives(negatives).beside(events, SEEDS[part])
            self._asked[part, negatives] = Questions(events, drawn)
        return self._asked[part, negatives]

    def candidates(self, part: Part, each: int) -> Questions:
        """For every event `each` random destinations, none of them met by its source within its block."""
        events = self.part(part)
        negatives = self._negatives("random")
        drawn = [negatives.beside(events, SEEDS[part], 1 + index) for index in range(each)]
        columns = [torch.stack([getattr(d, name) for d in drawn], 1).flatten() for name in LinkQuery.__slots__]
        return Questions(events, LinkQuery(*columns), each)

    def judge(self, part: Part, scores: Scores) -> Verdict:
        """Metrics over all events of a part, and over those with a node that training never met."""
        return self._verdict(part, scores, ranking if scores.negative.shape[1] == 1 else reciprocal_ranks)

    def trust(self, part: Part, scores: Scores, calibration: Calibration) -> Verdict:
        """How far the calibrated probabilities hold, and how far sigmoid(score) would."""
        verdict = self._verdict(part, scores, partial(trust, calibration=calibration))
        stages = {"before": UNCALIBRATED, "after": calibration}
        return replace(verdict, reliability={name: reliability(*scores.arrays, way) for name, way in stages.items()})

    def _verdict(self, part: Part, scores: Scores, metrics: Callable[[Floats, Floats], dict[str, float]]) -> Verdict:
        unseen = self._unseen[part].cpu().numpy()
        positive, negative = scores.arrays
        touched = metrics(positive[unseen], negative[unseen]) if unseen.any() else None
        return Verdict(metrics(positive, negative), touched)

    def _negatives(self, name: NegativesName) -> Negatives:
        return negatives_named(name, self.graph.events, self.graph.num_nodes, self.split.last_train)
