"""Folders and archives of the benchmark's format"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch import Tensor

from ..errors import ChronolinkError
from ..events import TemporalGraph
from ..read import in_order
from ..readers.features import read_labels
from ..readers.tables import Table, read_table
from ..readers.times import read_times
from .archive import unpack


def read_folder(folder: Path, name: str | None = None) -> TemporalGraph:
    """The graph of `ml_{name}.csv` (columns u, i, ts, label, idx), `ml_{name}.npy` and `ml_{name}_node.npy`.

    Nodes and feature rows are counted from 1 there and from 0 here. A table of features that is zero throughout
    becomes one of width 0, and labels that are zero throughout become none: they say nothing.
    """
    events = _events_file(folder)
    table = read_table(events)
    if len(table) < 2:
        raise ChronolinkError(f"{table.place}: one event only; give at least two")
    source, destination, row = (_numbers(table, column) for column in ("u", "i", "idx"))
    nodes = int(torch.maximum(source.max(), destination.max())) + 1
    labels = torch.zeros(int(row.max()) + 1, dtype=torch.int64).scatter_(0, row, read_labels(table, "label"))
    when = torch.from_numpy(read_times(table, "ts").to_numpy(writable=True))
    return TemporalGraph(
        events=in_order(table.place, source, destination, when, row),
        num_nodes=nodes,
        node_features=_features(events.with_name(f"{events.stem}_node.npy"), nodes),
        edge_features=_features(events.with_suffix(".npy"), len(labels)),
        labels=labels if bool(labels.any()) else None,
        name=name or events.stem.removeprefix("ml_"),
    )


def read_archive(archive: Path) -> TemporalGraph:
    """The same from a zip, unpacked for the time of reading."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(archive, Path(folder))
        return read_folder(Path(folder))


def _events_file(folder: Path) -> Path:
    # the archives hold one folder with the set's name
    found = sorted(folder.glob("ml_*.csv")) or sorted(folder.glob("*/ml_*.csv"))
    if not found:
        raise ChronolinkError(f"{folder}: no file ml_*.csv; give a folder in the benchmark's format, or an event file")
    if len(found) > 1:
        raise ChronolinkError(f"{folder}: several sets ({', '.join(file.name for file in found)}); keep one a folder")
    return found[0]


def _numbers(table: Table, name: str) -> Tensor:
    """A column that counts from 1, counted from 0."""
    column = table.column(name)
    number = column.cast(pl.Float64, strict=False)
    wrong = (number.is_null() | (number < 1) | (number % 1 != 0)).fill_null(True)
    table.forbid(wrong, lambda line: f"{name} is {column[line]}; this format counts from 1 in whole numbers")
    return torch.from_numpy(number.cast(pl.Int64).to_numpy(writable=True)) - 1


def _features(file: Path, rows: int) -> Tensor:
    """[rows, width] float32 without the padding row in front."""
    if not file.exists():
        raise ChronolinkError(f"{file.parent}: {file.name} is missing; it belongs beside the file of events")
    try:
        table = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ChronolinkError(f"{file.name}: not a plain numpy array; get the file again") from error
    if table.ndim != 2 or table.dtype.kind not in "fiu":
        raise ChronolinkError(f"{file.name}: {table.dtype} of shape {table.shape}; give a numeric table of features")
    if not table.any():
        return torch.empty(rows, 0)
    if len(table) < rows + 1:
        raise ChronolinkError(f"{file.name}: {len(table) - 1} rows where {rows} are named; get the file again")
    return _finite(file, table[1 : rows + 1].astype(np.float32))


def _finite(file: Path, features: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Tensor:
    wrong = ~np.isfinite(features).all(axis=1)
    if wrong.any():
        raise ChronolinkError(f"{file.name}, row {int(wrong.argmax()) + 1}: a feature is not finite; mend that row")
    return torch.from_numpy(features)
