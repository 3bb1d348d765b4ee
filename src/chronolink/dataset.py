"""A name or a file becomes a graph"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Unpack

from .datasets.fetch import cached, fetch
from .datasets.zenodo_format import read_archive, read_folder
from .errors import ChronolinkError, unknown
from .events import TemporalGraph
from .read import Columns, read_events
from .readers.tables import expanded


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set known by name: what it is and the statistics it was published with."""

    name: str
    about: str
    nodes: int | None
    events: int | None
    pairs: int | None  # distinct and ordered
    times: int | None  # distinct
    bundled: bool
    archive: str | None  # stem of its zip in the benchmark's record
    edge_features: tuple[str, ...] = ()  # columns of a bundled file
    label: str | None = None
    note: str | None = None  # what to know before comparing results

    @property
    def on_disk(self) -> bool:
        return self.bundled or (self.archive is not None and cached(self.archive).is_dir())

    def load(self) -> TemporalGraph:
        if self.bundled:
            return self._load_bundled()
        assert self.archive is not None
        return read_folder(fetch(self.archive), self.name)

    def _load_bundled(self) -> TemporalGraph:
        with as_file(files("chronolink.datasets") / f"{self.name}.parquet") as path:
            return read_events(
                path,
                source="src",
                destination="dst",
                edge_features=self.edge_features,
                label=self.label,
                name=self.name,
            )


@cache
def datasets() -> tuple[Dataset, ...]:
    """All sets known by name, the bundled ones first."""
    entries = json.loads((files("chronolink.datasets") / "index.json").read_text(encoding="utf-8"))
    return tuple(Dataset(**{**entry, "edge_features": tuple(entry["edge_features"])}) for entry in entries)


def canonical(data: str | Path) -> str:
    """The one way to write a data set: its name, or the whole path of a file."""
    named = {_plain(dataset.name): dataset.name for dataset in datasets()}
    if isinstance(data, str) and _plain(data) in named:
        return named[_plain(data)]
    path = expanded(data)
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        raise unknown("data set", str(data), named.values())
    return str(path.resolve())


def load(data: str | Path, **columns: Unpack[Columns]) -> TemporalGraph:
    """The graph of a data set's name, of an event file, or of a folder or zip in the benchmark's format.

    In names case, hyphens and underscores play no part, and a name goes before a file that is called the same.
    The columns are those of `read_events` and belong to event files; the others have columns of their own.
    """
    name = canonical(data)
    for dataset in datasets():
        if dataset.name == name:
            _refuse_columns(name, columns)
            return replace(dataset.load(), origin={"data": name})
    graph = _load_path(data, columns)
    return replace(graph, origin={"data": name, **_kept(columns)}) if _can_be_kept(columns) else graph


def _load_path(name_or_path: str | Path, columns: Columns) -> TemporalGraph:
    path = expanded(name_or_path)
    if path.is_dir() or (path.suffix == ".zip" and path.exists()):
        _refuse_columns(path.name, columns)
        return read_folder(path) if path.is_dir() else read_archive(path)
    return read_events(path, **columns)


def _can_be_kept(columns: Columns) -> bool:
    """Whether the same graph can be had again from what is written down: a second table in memory cannot."""
    return isinstance(columns.get("node_features"), str | Path | None)


def _kept(columns: Columns) -> dict[str, Any]:
    """The columns as text, valid from any folder."""
    written: dict[str, Any] = dict(columns)
    if written.get("node_features") is not None:
        written["node_features"] = str(expanded(written["node_features"]).resolve())
    return {name: value if isinstance(value, str | None) else list(value) for name, value in written.items()}


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _refuse_columns(name: str, columns: Columns) -> None:
    if columns:
        raise ChronolinkError(f"{name} has columns of its own; leave out {', '.join(columns)}")
