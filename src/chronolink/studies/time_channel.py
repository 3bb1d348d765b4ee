"""DyGFormer with a narrower time channel"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._widths import Widths


class TimeChannel(Widths):
    """How narrow the time channel of DyGFormer can be."""

    title = "DyGFormer with a narrower time channel"
    about = "Test AP by random negatives against the width of the time channel, and the parameters that remain."
    model, widths, data, file = "dygformer", (50, 24, 2), ("uci", "enron", "lastfm", "uslegis"), "time-channel"
    axis = "$d_{tc}$"

    def narrowed(self, width: int) -> Mapping[str, Any]:
        return {"time_channel": width}
