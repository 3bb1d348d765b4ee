"""The main table with random negatives"""

from __future__ import annotations

from ._grid import HEURISTICS, Grid


class RandomNegatives(Grid):
    """Which time encoder is best for which model, by AP against random negatives."""

    title = "Test AP with random negatives"
    about = "Four models and three time encoders on six data sets, the epoch chosen and tested by random negatives."
    heuristics = HEURISTICS
    rows = {"cosine": "cosine", "cosine-scaled": "cosine-scaled", "linear": "linear"}  # noqa: RUF012
    criterion = "random"
    published = "test_ap_random_ns"
