"""Event sequences: the draw, the oracle"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..draws import fold
from ..errors import ChronolinkError, at_least_one

SHARES = (0.70, 0.85)  # where training and validation end


@dataclass(frozen=True, slots=True)
class Process:
    """How sequences come about; `rate`, `decay` and `events` are the paper's lambda, alpha and M, and `noise` is the
    deviation of its epsilon.
    """

    sequences: int = 2000
    events: int = 7
    rate: float = 0.01
    decay: float = 0.003
    noise: float = 0.1

    def __post_init__(self) -> None:
        at_least_one(sequences=self.sequences, events=self.events)
        for name in ("rate", "decay", "noise"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ChronolinkError(f"{name} is {value}; it must be a number of 0 or more")
        if self.rate == 0:
            raise ChronolinkError("rate is 0; without events there is nothing to classify, so give it more")


@dataclass(frozen=True, slots=True)
class EventSequences:
    """Sequences of events, each with a feature of 1 or -1 and a time, and a label for each sequence.

    y = 1[sum_m exp(-alpha (t - t_m)) x_m + epsilon > 0]: the more recent an event, the more it counts.
    """

    feature: Tensor  # [sequences, events] float64
    time: Tensor  # [sequences, events] float64, rising
    asked: Tensor  # [sequences] float64, the time t after the last event for which the label holds
    label: Tensor  # [sequences] bool
    decay: float

    @property
    def elapsed(self) -> Tensor:
        """t - t_m, [sequences, events] float64."""
        return self.asked.unsqueeze(1) - self.time

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, index: slice | Tensor) -> EventSequences:
        columns = (self.feature[index], self.time[index], self.asked[index], self.label[index])
        return EventSequences(*columns, self.decay)

    def parts(self) -> tuple[EventSequences, EventSequences, EventSequences]:
        """Training, validation and test: drawn one like the other, so cut without shuffling."""
        first, second = (round(share * len(self)) for share in SHARES)
        if not first < second < len(self):
            raise ChronolinkError(f"{len(self)} sequences are too few for three parts; draw 6 or more")
        return self[:first], self[first:second], self[second:]

    def oracle(self) -> float:
        """The accuracy of who knows all but the noise: as the noise is even about 0, nobody can expect more."""
        known = influence(self.feature, self.elapsed, self.decay) > 0
        return float((known == self.label).double().mean())

    def true_attention(self) -> Tensor:
        """exp(-alpha (t - t_m)) as shares of its sum over a sequence, [sequences, events]."""
        return torch.softmax(-self.decay * self.elapsed, dim=1)


def draw(seed: int, process: Process | None = None) -> EventSequences:
    """Sequences by the paper's process; the seed decides all of them."""
    process = process or Process()
    generator = torch.Generator().manual_seed(int(fold(seed)))
    shape = (process.sequences, process.events)
    feature = torch.randint(2, shape, generator=generator).double() * 2 - 1
    waits = torch.empty(process.sequences, process.events + 1, dtype=torch.float64)
    times = waits.exponential_(process.rate, generator=generator).cumsum(1)
    time, asked = times[:, :-1], times[:, -1]
    noise = process.noise * torch.randn(process.sequences, generator=generator, dtype=torch.float64)
    label = influence(feature, asked.unsqueeze(1) - time, process.decay) + noise > 0
    return EventSequences(feature, time, asked, label, process.decay)


def influence(feature: Tensor, elapsed: Tensor, decay: float) -> Tensor:
    """sum_m exp(-alpha (t - t_m)) x_m, [sequences]."""
    return (torch.exp(-decay * elapsed) * feature).sum(1)
