"""Train, validation, test, and unseen nodes"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .errors import ChronolinkError
from .events import EventStream, TemporalGraph

SHARES = (0.70, 0.85)


def boundaries(time: Tensor, shares: Sequence[float] = SHARES) -> tuple[float, float]:
    """The last time of training and the last time of validation: quantiles of the event times."""
    if len(time) == 0:
        return -math.inf, -math.inf
    last_train, last_validation = np.quantile(time.cpu().numpy(), shares)
    return float(last_train), float(last_validation)


@dataclass(frozen=True, slots=True)
class Split:
    """Where the stream is cut and which nodes training never meets.

    train: time <= last_train, without the events that touch a held-out node; validation: up to last_validation;
    test: the rest. Events of equal time stay together. It is data, kept with a run, so that no other version of
    a random generator can change it.
    """

    last_train: float
    last_validation: float
    held_out: tuple[int, ...]

    @classmethod
    def of(cls, graph: TemporalGraph, unseen: float = 0.1, seed: int = 2020) -> Split:
        """The benchmark's split: a tenth of the nodes, drawn among those that appear later, is held out.

        None is where every training event touches one of them.
        """
        stream = graph.events
        last_train, last_validation = boundaries(stream.time)
        late = stream.time > last_train
        candidates = sorted({*stream.source[late].tolist(), *stream.destination[late].tolist()})
        size = min(int(unseen * graph.num_nodes), len(candidates))
        split = cls(last_train, last_validation, tuple(sorted(random.Random(seed).sample(candidates, size))))
        if len(split.train(stream)) == 0:  # of a log with one source, say: something to learn from goes first
            split = cls(last_train, last_validation, ())
        for part in ("train", "validation", "test"):
            if len(getattr(split, part)(stream)) == 0:
                raise ChronolinkError(
                    f"{graph.name}: the {part} split has no events ({len(stream)} events, "
                    f"{len(torch.unique(stream.time))} distinct times); more events at more distinct times are needed"
                )
        return split

    def train(self, stream: EventStream) -> EventStream:
        early = stream[stream.time <= self.last_train]
        held_out = torch.tensor(self.held_out, dtype=torch.int64, device=early.time.device)
        return early[~(torch.isin(early.source, held_out) | torch.isin(early.destination, held_out))]

    def validation(self, stream: EventStream) -> EventStream:
        return stream[(stream.time > self.last_train) & (stream.time <= self.last_validation)]

    def test(self, stream: EventStream) -> EventStream:
        return stream[stream.time > self.last_validation]

    def touches_unseen(self, stream: EventStream, part: EventStream) -> Tensor:
        """Which events of a part have an end that occurs in no training event: the inductive evaluation."""
        train = self.train(stream)
        seen = torch.cat([train.source, train.destination])
        return ~(torch.isin(part.source, seen) & torch.isin(part.destination, seen))

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Split:
        return cls(kept["last_train"], kept["last_validation"], tuple(kept["held_out"]))
