"""Numeric columns as tensors, checked"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
import torch
from torch import Tensor

from ..errors import ChronolinkError
from .tables import Table


def chosen_columns(table: Table, wanted: str | Sequence[str], taken: Iterable[str]) -> list[str]:
    """Columns named outright or by a prefix (`feature_*`); a prefix passes over those that are taken already."""
    free = [column for column in table.columns.columns if column not in set(taken)]
    chosen: dict[str, None] = {}
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if not name.endswith("*") or name in free:
            chosen[name] = None
            continue
        matches = [column for column in free if column.startswith(name[:-1])]
        if not matches:
            raise ChronolinkError(f"{table.place}: no column begins with '{name[:-1]}'; it has {', '.join(free[:12])}")
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def read_features(table: Table, columns: Sequence[str]) -> Tensor:
    """[lines, columns] float32, every value finite."""
    features = np.empty((len(table), len(columns)), dtype=np.float32)
    for place, name in enumerate(columns):
        features[:, place] = _numbers(table, name).to_numpy()
    return torch.from_numpy(features)


def read_labels(table: Table, name: str) -> Tensor:
    """[lines] int64."""
    numbers = _numbers(table, name)
    table.forbid(numbers % 1 != 0, lambda line: f"label {name} {numbers[line]:g} is no whole number; number the states")
    return torch.from_numpy(numbers.cast(pl.Int64).to_numpy(writable=True))


def _numbers(table: Table, name: str) -> pl.Series:
    column = table.column(name)
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean)):
        raise table.error(0, f"column {name} is of type {column.dtype}; give numbers")
    numbers = column.cast(pl.Float64, strict=False)
    table.forbid(column.is_null(), lambda _: f"column {name} is missing; fill it in or drop the row")
    table.forbid(numbers.is_null(), lambda line: f"column {name} {column[line]!r} is no number; write a number")
    table.forbid(numbers.is_nan(), lambda _: f"column {name} is not a number (NaN); fill it in or drop the row")
    finite = numbers.abs() <= float(np.finfo(np.float32).max)
    table.forbid(~finite, lambda line: f"column {name} {numbers[line]:g} is infinite or beyond float32; scale it down")
    return numbers
