"""Future links: the questions, the judge"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

import torch
from torch import Tensor

from ..calibration import UNCALIBRATED, Bins, Calibration, reliability
from ..events import EventStream, TemporalGraph
from ..history import History
from ..metrics import Floats, ranking, reciprocal_ranks, trust
from ..negatives import Negatives, NegativesName, OtherNegatives, negatives_named
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

    @classmethod
    def beside(cls, events: EventStream, negatives: Sequence[LinkQuery]) -> Questions:
        """One link of each of these lists beside every event."""
        columns = [torch.stack([getattr(n, name) for n in negatives], 1).flatten() for name in LinkQuery.__slots__]
        return cls(events, LinkQuery(*columns), len(negatives))

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

    def of(self, column: int) -> Scores:
        """Those of the events and of one negative each."""
        return Scores(self.positive, self.negative[:, column : column + 1])

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
        self._others_train = OtherNegatives(self.train, graph.num_nodes)
        self._parts = {"validation": split.validation(graph.events), "test": split.test(graph.events)}
        self._unseen = {name: split.touches_unseen(graph.events, part) for name, part in self._parts.items()}
        self._drawn: dict[tuple[Part, NegativesName], LinkQuery] = {}

    @cached_property
    def train_history(self) -> History:
        return History(self.graph.cut(self.train))

    @cached_property
    def history(self) -> History:
        return History(self.graph)

    def part(self, part: Part) -> EventStream:
        return self._parts[part]

    def training_questions(self, seed: int, epoch: int) -> Questions:
        return Questions(self.train, self._others_train.beside(self.train, seed, epoch))

    def questions(self, part: Part, negatives: Sequence[NegativesName]) -> Questions:
        """The events of a part, each beside one negative of every kind; drawn once, as they are the same every time."""
        events = self.part(part)
        for kind in negatives:
            if (part, kind) not in self._drawn:
                self._drawn[part, kind] = self._negatives(kind).beside(events, SEEDS[part])
        return Questions.beside(events, [self._drawn[part, kind] for kind in negatives])

    def candidates(self, part: Part, each: int) -> Questions:
        """For every event `each` random destinations, none of them met by its source within its block."""
        events, negatives = self.part(part), OtherNegatives(self.graph.events, self.graph.num_nodes)
        return Questions.beside(events, [negatives.beside(events, SEEDS[part], 1 + index) for index in range(each)])

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
