"""Scores to probabilities that hold"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ChronolinkError

Floats = NDArray[np.floating]

BINS = 10
FARTHEST = 2.0**20  # times the largest score: all probabilities are 1/2 there, to six digits
STEPS = 200
FEWEST = 10  # links, and as many that did not happen: fewer tell too little


@dataclass(frozen=True, slots=True)
class Calibration:
    """What makes a score a probability: sigmoid((score - offset) / temperature).

    Temperature scaling (Guo et al. 2017, "On calibration of modern neural networks") with an offset (Platt 1999,
    "Probabilistic outputs for support vector machines"): the temperature mends how sure the scores are, the offset
    where they lie, as those of a rule from 0 to 1. The temperature is above 0, so the order of the scores stays, and
    with it AP, AUC and MRR. Both are fitted against one random negative a link; among all pairs, most of which never
    meet, links are rarer than such a probability says.
    """

    temperature: float = 1.0
    offset: float = 0.0
    note: str | None = None  # where they are not the most likely ones: why

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Calibration:
        """As a report keeps it; a report of old keeps none."""
        temperature, offset = kept.get("temperature", 1.0), kept.get("offset", 0.0)
        for name, value, kind, least in (
            ("temperature", temperature, "a number above 0", 0.0),
            ("offset", offset, "a number", -inf),
        ):
            if not isinstance(value, int | float) or not least < value < inf:
                raise ChronolinkError(
                    f"the report's {name} is {value!r}, not {kind}; bring back the report of this run"
                )
        note = kept.get("note", "the run has no calibration; scores are taken for log-odds")
        return cls(float(temperature), float(offset), note)

    def probability(self, scores: Floats) -> NDArray[np.float64]:
        """Without overflow at any score."""
        return _sigmoid((np.asarray(scores, dtype=np.float64) - self.offset) / self.temperature)


UNCALIBRATED = Calibration()  # scores are taken for log-odds


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


def labelled(positive: Floats, negative: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Whether each link happened, 1 or 0, and its score."""
    labels = np.repeat([1, 0], [positive.size, negative.size])
    return labels, np.concatenate([positive.ravel(), negative.ravel()])


def fit_calibration(positive: Floats, negative: Floats) -> Calibration:
    """The temperature and offset under which it is most likely that the positive scores' links happened, and no others.

    Where no score of a link lies below one of the others, likelihood grows for ever as the temperature falls; then n
    answers promise odds of n + 1 to 1 at the mean distance (the rule of succession), not certainty.
    """
    happened, single = labelled(positive, negative)
    scores = single.astype(np.float64)
    if min(positive.size, negative.size) < FEWEST:
        return Calibration(note=f"{positive.size} validation events are too few to calibrate; scores are log-odds")
    if not np.isfinite(scores).all():
        return Calibration(note="not all validation scores are finite; they are taken for log-odds")
    if scores.min() == scores.max():
        return Calibration(offset=float(scores[0]), note="all validation scores are equal; the probability is 1/2")
    if negative.max() <= positive.min():
        return _without_a_mistake(scores, float(negative.max() + positive.min()) / 2)
    slope, bias, centre, scale = _most_likely(scores, happened)
    if slope <= 0 or not isfinite(scale / slope):
        note = "the validation scores tell nothing; all probabilities are near 1/2"
        return Calibration(float(np.abs(scores).max()) * FARTHEST, note=note)
    return Calibration(scale / slope, centre - bias * scale / slope)


def reliability(positive: Floats, negative: Floats, calibration: Calibration) -> Bins:
    """How often the links of each bin of probability happened."""
    happened, scores = labelled(positive, negative)
    found = calibration.probability(scores)
    place = np.minimum((found * BINS).astype(np.int64), BINS - 1)
    inside = [place == number for number in range(BINS)]
    return Bins(
        [float(found[rows].mean()) if rows.any() else None for rows in inside],
        [float(happened[rows].mean()) if rows.any() else None for rows in inside],
        [int(rows.sum()) for rows in inside],
    )


def _without_a_mistake(scores: NDArray[np.float64], middle: float) -> Calibration:
    distance = float(np.abs(scores - middle).mean())
    note = "no validation score is on the wrong side; the temperature goes by their number"
    return Calibration(distance / log(scores.size + 1), middle, note)


def _most_likely(scores: NDArray[np.float64], happened: NDArray[np.int64]) -> tuple[float, float, float, float]:
    """Slope, bias, centre and scale of sigmoid(slope * (score - centre) / scale + bias), by Newton's method.

    The loss is convex; a step that does not lower it is halved. Centre and scale are of the middle half of the
    scores, so that one extreme score does not decide where the search begins.
    """
    low, centre, high = np.quantile(scores, [0.25, 0.5, 0.75])
    scale = float(high - low) or float(np.abs(scores - centre).mean())
    inputs = np.stack([(scores - centre) / scale, np.ones_like(scores)])
    found = np.array([1.0, 0.0])
    loss = _loss(found @ inputs, happened)
    for _ in range(STEPS):
        said = _sigmoid(found @ inputs)
        slope = inputs @ (said - happened)
        curvature = (inputs * (said * (1 - said))) @ inputs.T
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        while (lower := _loss((found - step) @ inputs, happened)) > loss and np.abs(step).max() > 1e-14:
            step /= 2
        if lower >= loss:
            break
        found, loss = found - step, lower
    return float(found[0]), float(found[1]), float(centre), scale


def _loss(logits: NDArray[np.float64], happened: NDArray[np.int64]) -> float:
    """The negative log likelihood."""
    return float((np.logaddexp(0.0, logits) - happened * logits).sum())


def _sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.exp(-np.logaddexp(0.0, -logits))
    return found
