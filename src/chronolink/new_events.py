"""Events that come after those learnt"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .dataset import datasets
from .errors import ChronolinkError
from .readers.features import chosen_columns, read_features
from .readers.nodes import read_names
from .readers.tables import Table, read_table
from .readers.times import is_dated, read_times

TOGETHER = 100_000  # events of a joined part


@dataclass(frozen=True, slots=True)
class NewEvents:
    """Events by the names of their nodes, oldest first."""

    source: Sequence[str]
    destination: Sequence[str]
    time: Tensor  # [events] float64
    edge_features: Tensor  # [events, width] float32

    def __len__(self) -> int:
        return len(self.source)

    def as_bytes(self) -> bytes:
        """JSON; every float comes back as it was."""
        columns = {"time": self.time.tolist(), "edge_features": self.edge_features.tolist()}
        return json.dumps({"source": list(self.source), "destination": list(self.destination), **columns}).encode()

    @classmethod
    def from_bytes(cls, record: bytes, width: int) -> NewEvents:
        columns = json.loads(record)
        features = torch.tensor(columns["edge_features"], dtype=torch.float32).view(len(columns["source"]), width)
        time = torch.tensor(columns["time"], dtype=torch.float64)
        return cls(columns["source"], columns["destination"], time, features)

    @classmethod
    def joined(cls, parts: Iterable[NewEvents]) -> Iterator[NewEvents]:
        """The same events in few large parts."""
        kept: list[NewEvents] = []
        size = 0
        for part in parts:
            kept.append(part)
            size += len(part)
            if size >= TOGETHER:
                yield cls._whole(kept)
                kept, size = [], 0
        if kept:
            yield cls._whole(kept)

    @classmethod
    def _whole(cls, parts: list[NewEvents]) -> NewEvents:
        return cls(
            [name for part in parts for name in part.source],
            [name for part in parts for name in part.destination],
            torch.cat([part.time for part in parts]),
            torch.cat([part.edge_features for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """How the columns of a run's events are called, and what their times and features are."""

    source: str
    destination: str
    time: str
    edge_features: str | Sequence[str]
    width: int  # of the edge features
    dated: bool

    @classmethod
    def of(cls, settings: Mapping[str, Any], width: int, dated: bool) -> Layout:
        named = next((known.edge_features for known in datasets() if known.name == settings["data"]), ())
        source, destination, time = (settings.get(name, name) for name in ("source", "destination", "time"))
        wanted = settings.get("edge_features") or named or ("feature_*" if width else ())
        return cls(source, destination, time, wanted, width, dated)

    def read(self, events: Any) -> NewEvents:
        """From a path, a frame, an Arrow table or columns; sorted by time, ties in their order."""
        table = read_table(events)
        time = torch.from_numpy(read_times(table, self.time).to_numpy(writable=True))
        self._check_kind(table)
        source, destination = (read_names(table, end).to_list() for end in (self.source, self.destination))
        order = torch.argsort(time, stable=True)
        rows = order.tolist()
        return NewEvents(
            [source[row] for row in rows],
            [destination[row] for row in rows],
            time[order],
            self._features(table)[order],
        )

    def _check_kind(self, table: Table) -> None:
        kinds = ("numbers", "dates")
        dated = is_dated(table, self.time)
        if dated != self.dated:
            raise ChronolinkError(
                f"{table.place}: {self.time} holds {kinds[dated]}, the run's events have {kinds[self.dated]}; "
                f"give {kinds[self.dated]}"
            )

    def _features(self, table: Table) -> Tensor:
        columns = chosen_columns(table, self.edge_features, {self.source, self.destination, self.time})
        if len(columns) != self.width:
            raise ChronolinkError(
                f"{table.place}: {len(columns)} edge features, the run's events have {self.width}; give those"
            )
        return read_features(table, columns)
