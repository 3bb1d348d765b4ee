"""TGAT with fewer time features"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..paper import DATA
from ._widths import Widths


class TimeWidth(Widths):
    """How few features of time TGAT can do with."""

    title = "TGAT with narrower time encodings"
    about = "Test AP by random negatives against the width of the time encoding, and the parameters that remain."
    model, widths, data, file = "tgat", (100, 50, 2), DATA, "time-width"
    axis = "$d_T$"

    def narrowed(self, width: int) -> Mapping[str, Any]:
        return {"width": width}
