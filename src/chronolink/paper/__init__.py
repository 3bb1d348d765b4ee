"""The paper's published numbers and settings"""

from __future__ import annotations

import csv
import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..catalogue import plain

TITLE = "Between Linear and Sinusoidal: Rethinking the Time Encoder in Dynamic Graph Learning"
DATA = ("uci", "wikipedia", "enron", "reddit", "lastfm", "uslegis")
PADDED = 172  # the width that the paper pads node and edge features to
_ENCODERS = {"cosine": "sinusoidal", "cosine_scaled": "sinusoidal-scale", "sine_cosine": "sine-cosine"}  # ours: theirs
_OPTIONS = {  # of a model, by the name of the column
    "dropout": ("dropout", float),
    "channel_dim": ("channel", int),
    "max_sequence_length": ("length", int),
    "patch_size": ("patch", int),
    "num_layers": ("layers", int),
    "num_heads": ("heads", int),
    "num_neighbors": ("neighbours", int),
    "neighbor_sampling": ("sampling", str),
}


@cache
def tables() -> dict[str, Any]:
    """Every table by name, model, time encoder and data set; AP and AUC in per cent."""
    return dict(json.loads((files(__package__) / "results.json").read_text(encoding="utf-8")))


def published(table: str, model: str, row: str, data: str) -> tuple[float, float] | None:
    """Mean and standard deviation of one cell as the paper prints them; `row` is a time encoder, or as the table has
    it (cosine, time, position).
    """
    rows = {plain(name): rows for name, rows in tables()[table].items()}.get(plain(model), {})
    found = rows.get(row) or rows.get(_ENCODERS.get(plain(row), row)) or {}
    cell = found.get(plain(data).replace("_", ""))
    if cell is None:
        return None
    return (cell["mean"], cell["std"]) if isinstance(cell, dict) else (cell, 0.0)


def selected(data: str, model: str, time_encoder: str, selected_by: str) -> dict[str, Any] | None:
    """The options of a model that the paper selected for a data set by one kind of negatives."""
    wanted = (plain(data), plain(model), _ENCODERS.get(plain(time_encoder), plain(time_encoder)), selected_by)
    row = _settings().get(wanted)
    if row is None:
        return None
    options = {name: kind(row[column]) for column, (name, kind) in _OPTIONS.items() if row[column]}
    if options.get("sampling") == "recent":  # what a model does unless told otherwise
        del options["sampling"]
    return options


@cache
def _settings() -> dict[tuple[str, str, str, str], dict[str, str]]:
    text = (files(__package__) / "hyperparameters.csv").read_text(encoding="utf-8")
    keys = ("dataset", "model", "time_encoder", "selected_by")
    rows = list(csv.DictReader(text.splitlines()))
    return {(row[keys[0]], plain(row[keys[1]]), row[keys[2]], row[keys[3]]): row for row in rows}
