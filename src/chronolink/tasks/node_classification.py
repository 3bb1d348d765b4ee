"""Nodes' states: the questions, the judge"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from ..errors import ChronolinkError
from ..events import TemporalGraph
from ..history import History
from ..metrics import area_under_curve, average_precision
from ..split import Split

NODE_CLASSIFICATION = "node-classification"  # in settings and reports
Part = Literal["train", "validation", "test"]


class NodeClassification:
    """In which state an event's source is when the event happens: 1 (banned, dropped out) or 0.

    Every event is a question with the answer in its label, asked of what lies strictly before it in the whole stream;
    labels are answers alone. The parts are cut by time, as Kumar et al. (2019) and DyGLib do it: unlike for links,
    training has all events of its time, those of nodes that are held out there among them.
    """

    def __init__(self, graph: TemporalGraph, split: Split) -> None:
        self.graph = graph
        self.state = _states(graph)  # [events] bool, in time order
        ends = torch.tensor([split.last_train, split.last_validation], dtype=torch.float64)
        first, second = torch.searchsorted(graph.events.time.cpu(), ends, right=True).tolist()
        cuts = (slice(0, first), slice(first, second), slice(second, len(graph.events)))
        self._parts: dict[Part, slice] = dict(zip(("train", "validation", "test"), cuts, strict=True))
        for part in self._parts:
            self._check(part)

    @cached_property
    def history(self) -> History:
        return History(self.graph)

    def part(self, part: Part) -> slice:
        """Which of all events, in time order."""
        return self._parts[part]

    def judge(self, part: Part, scores: Tensor) -> dict[str, float]:
        """AUC and AP over all events of a part; scores [events], the higher the likelier state 1."""
        state, score = self.state[self.part(part)].cpu().numpy(), scores.cpu().numpy()
        return {
            "auc": area_under_curve(state, score),
            "ap": average_precision(state, score),
            "events": len(state),
            "positives": int(state.sum()),
        }

    def _check(self, part: Part) -> None:
        """Both states must occur, or nothing can be learnt or told."""
        state = self.state[self.part(part)]
        for value, present in ((1, state.any()), (0, (~state).any())):
            if not bool(present):
                raise ChronolinkError(
                    f"{self.graph.name}: none of the {len(state)} events of the {part} split has label {value}; "
                    "give events with both labels in each split"
                )


def _states(graph: TemporalGraph) -> Tensor:
    if graph.labels is None:
        raise ChronolinkError(
            f"{graph.name} has no labels, so no node can be classified; name their column by --label, or take "
            "wikipedia-edges"
        )
    label = graph.labels[graph.events.id]
    other = label[(label != 0) & (label != 1)]
    if len(other):
        raise ChronolinkError(f"{graph.name} has label {int(other[0])}; write 1 for the state to find and 0 for others")
    return label == 1
