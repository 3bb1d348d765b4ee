"""The time of events, or their order"""

from __future__ import annotations

from ._grid import Grid


class TimeOrPosition(Grid):
    """Whether the time since an event says more than how many events ago it was."""

    title = "Time or position"
    about = "The same cosines of the time since an event and of its position in the history, by random negatives."
    models = ("tgat", "dygformer")
    rows = {"time": "cosine", "position": "position"}  # noqa: RUF012
    published = "time_vs_position_test_ap_random_ns"
    head = "encoded"
