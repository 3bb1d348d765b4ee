"""What a predictor answers"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Scored:
    """One score a pair, and how likely the link is beside one random link that did not happen."""

    score: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate for the next link; `last_met`, whoever turned to whom, is None for a pair that never met."""

    name: str
    probability: float
    score: float
    last_met: float | None


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event by the names of its nodes."""

    source: str
    destination: str
    time: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """A past event, and the score less the score without it."""

    source: str
    destination: str
    time: float
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a score rests on, the weightiest event first."""

    source: str
    destination: str
    at: float
    score: float
    probability: float
    events: list[Contribution]
