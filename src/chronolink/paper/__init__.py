"""The paper's published numbers and settings"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..catalogue import plain

TITLE = "Between Linear and Sinusoidal: Rethinking the Time Encoder in Dynamic Graph Learning"
_ENCODERS = {"cosine": "sinusoidal", "cosine_scaled": "sinusoidal-scale"}  # our words to theirs


@cache
def tables() -> dict[str, Any]:
    """Every table by name, model, time encoder and data set; AP and AUC in per cent."""
    return dict(json.loads((files(__package__) / "results.json").read_text(encoding="utf-8")))


def published(table: str, model: str, time_encoder: str, data: str) -> tuple[float, float] | None:
    """Mean and standard deviation of one cell as fractions, such as `published("test_ap_random_ns", ...)`."""
    rows = {plain(name): row for name, row in tables()[table].items()}
    encoder = _ENCODERS.get(plain(time_encoder), time_encoder)
    cell = rows.get(plain(model), {}).get(encoder, {}).get(plain(data).replace("_", ""))
    return None if cell is None else (cell["mean"] / 100, cell["std"] / 100)
