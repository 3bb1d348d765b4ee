"""Attention by the age of what it looks at"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .attention import Array, AttentionScores

AGES = ("youngest quarter", "second", "third", "oldest")


def quarters(several: Iterable[AttentionScores]) -> Array:
    """The three ages that cut the events which the asked one looks at, of all these together, into four equal parts."""
    ages = np.concatenate([scores.elapsed_key[_on_past(scores)] for scores in several])
    return np.quantile(ages, [0.25, 0.5, 0.75]) if len(ages) else np.zeros(3)


def by_age(scores: AttentionScores, edges: Array) -> list[list[float]]:
    """What the asked event gives to each past event, one list an age; an age ends with its edge."""
    past = scores[_on_past(scores)]
    age = np.searchsorted(edges, past.elapsed_key)
    return [past.score[age == number].tolist() for number in range(len(edges) + 1)]


def _on_past(scores: AttentionScores) -> NDArray[np.bool_]:
    """Of its own sequence, and neither itself nor a learnt beginning."""
    return scores.asked & scores.own & (scores.elapsed_key > scores.elapsed_query)
