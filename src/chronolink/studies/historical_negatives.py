"""The main table with historical negatives"""

from __future__ import annotations

from ._grid import HEURISTICS, Grid


class HistoricalNegatives(Grid):
    """Which time encoder is best for which model, by AP against historical negatives."""

    title = "Test AP with historical negatives"
    about = "Four models and three time encoders on six data sets, the epoch chosen and tested by historical negatives."
    heuristics = HEURISTICS
    rows = {"cosine": "cosine", "cosine-scaled": "cosine-scaled", "linear": "linear"}  # noqa: RUF012
    criterion = "historical"
    published = "test_ap_historical_ns"
