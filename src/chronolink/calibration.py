"""Scores to probabilities that hold"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ChronolinkError

Floats = NDArray[np.floating]

BINS = 10
FARTHEST = 2.0**20  # times the largest score: all probabilities are 1/2 there, to six digits
HALVINGS = 52


@dataclass(frozen=True, slots=True)
class Calibration:
    """What makes a score a probability: sigmoid(score / temperature).

    Temperature scaling (Guo et al. 2017, "On calibration of modern neural networks"): one number above 0, so the order
    of the scores stays, and with it AP, AUC and MRR. It is fitted against one random negative a link; among all pairs,
    most of which never meet, links are rarer than such a probability says.
    """

    temperature: float = 1.0
    note: str | None = None  # where the temperature is not the most likely one: why

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Calibration:
        """As a report keeps it; a report of old keeps none."""
        temperature = kept.get("temperature", 1.0)
        if not isinstance(temperature, int | float) or not 0 < temperature < inf:
            raise ChronolinkError(
                f"the report's temperature is {temperature!r}, not a number above 0; bring back the report of this run"
            )
        return cls(float(temperature), kept.get("note", "the run has no calibration; the temperature is 1"))


@dataclass(frozen=True, slots=True)
class Bins:
    """A reliability diagram: bins of equal width from 0 to 1; an empty bin has a count of 0 and no shares."""

    probability: list[float | None]  # mean of the bin
    happened: list[float | None]  # share of the bin
    count: list[int]

    @property
    def error(self) -> float:
        """Expected calibration error: sum of count / all * |probability - happened|."""
        rows = zip(self.probability, self.happened, self.count, strict=True)
        apart = (count * abs(p - share) for p, share, count in rows if p is not None and share is not None)
        return sum(apart) / sum(self.count)


def probability(scores: Floats, temperature: float = 1.0) -> NDArray[np.float64]:
    """sigmoid(score / temperature), without overflow at any score."""
    found: NDArray[np.float64] = np.exp(-np.logaddexp(0.0, -(np.asarray(scores, dtype=np.float64) / temperature)))
    return found


def fit_temperature(positive: Floats, negative: Floats) -> Calibration:
    """The temperature under which it is most likely that the positive scores' links happened and the others did not.

    Scores that no temperature can make probabilities keep a temperature of 1: a heuristic that scores from 0 to 1 says
    1/2 or more of every pair at any temperature. Without one wrong sign, likelihood grows for ever as the temperature
    falls; then n answers promise odds of n + 1 to 1 at the mean score (the rule of succession), not certainty.
    """
    obstacle = _obstacle(positive, negative)
    if obstacle:
        return Calibration(note=f"{obstacle}; the temperature stays 1")
    right = np.concatenate([positive.ravel(), -negative.ravel()]).astype(np.float64)  # above 0: the sign is right
    largest = float(np.abs(right).max())
    right /= largest
    if right.min() >= 0:
        note = "no validation score has the wrong sign; the temperature goes by their number"
        return Calibration(largest * float(right.mean()) / log(right.size + 1), note)
    if right.mean() <= 0:
        return Calibration(largest * FARTHEST, "the validation scores tell nothing; all probabilities are near 1/2")
    return Calibration(largest * _most_likely(right))


def reliability(positive: Floats, negative: Floats, temperature: float = 1.0) -> Bins:
    """How often the links of each bin of probability happened."""
    found = probability(np.concatenate([positive.ravel(), negative.ravel()]), temperature)
    happened = np.repeat([1.0, 0.0], [positive.size, negative.size])
    place = np.minimum((found * BINS).astype(np.int64), BINS - 1)
    inside = [place == number for number in range(BINS)]
    return Bins(
        [float(found[rows].mean()) if rows.any() else None for rows in inside],
        [float(happened[rows].mean()) if rows.any() else None for rows in inside],
        [int(rows.sum()) for rows in inside],
    )


def _obstacle(positive: Floats, negative: Floats) -> str | None:
    """Why no temperature makes these scores probabilities, if none does."""
    scores = np.concatenate([positive.ravel(), negative.ravel()])
    if not scores.size:
        return "there are no validation scores"
    if not np.isfinite(scores).all():
        return "not all validation scores are finite"
    if scores.min() >= 0 or scores.max() <= 0:
        return "all validation scores lie on one side of 0, where no temperature makes them probabilities"
    return None


def _most_likely(right: NDArray[np.float64]) -> float:
    """Where the slope of sum log(1 + exp(-right / T)) changes its sign, by halving a range of log T.

    The sum is convex in 1 / T, with slope -sum right * sigmoid(-right / T), so there is one such place. Scores up to 1.
    """
    low = max(log(np.abs(right[right != 0]).min()) - 8, -690.0)  # below, the wrong signs outweigh all others
    high = log(FARTHEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        lower_is_better = (right * probability(-right, exp(middle))).sum() > 0
        low, high = (low, middle) if lower_is_better else (middle, high)
    return exp((low + high) / 2)
