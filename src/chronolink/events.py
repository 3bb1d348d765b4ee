"""Timed events, oldest first; the temporal graph"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from .errors import ChronolinkError

EXACT = 2**53  # whole numbers up to here are exact in float64


@dataclass(frozen=True, slots=True, eq=False)
class EventStream:
    """Events (source, destination, time), oldest first; a batch of events is a stream, too.

    Times are float64 seconds (or steps) and never decrease; `id` is an event's row in the feature table,
    which stays with it when the stream is cut.
    """

    source: Tensor  # [events] int64
    destination: Tensor  # [events] int64
    time: Tensor  # [events] float64
    id: Tensor  # [events] int64

    def __post_init__(self) -> None:
        for field in fields(self):
            column: Tensor = getattr(self, field.name)
            wanted = torch.float64 if field.name == "time" else torch.int64
            if column.dtype != wanted or column.shape != self.source.shape or column.dim() != 1:
                raise ChronolinkError(
                    f"column {field.name} is {column.dtype} of shape {tuple(column.shape)}; "
                    f"a stream takes {wanted} columns of one length"
                )
        if not bool(torch.isfinite(self.time).all()):
            raise ChronolinkError("a time is infinite or not a number; drop that event")
        if bool((self.time[1:] < self.time[:-1]).any()):
            raise ChronolinkError("times decrease; sort the events, or use EventStream.sorted(...)")

    @classmethod
    def sorted(
        cls,
        source: Sequence[int] | Tensor,
        destination: Sequence[int] | Tensor,
        time: Sequence[float] | Tensor,
        id: Sequence[int] | Tensor | None = None,
    ) -> EventStream:
        """A stream from columns in any order; events of equal time keep their order."""
        when = torch.as_tensor(time, dtype=torch.float64)
        rows = torch.arange(len(when)) if id is None else id
        columns = [torch.as_tensor(column, dtype=torch.int64) for column in (source, destination, rows)]
        if any(column.shape != when.shape for column in columns):
            lengths = ", ".join(str(len(column)) for column in [*columns[:2], when, columns[2]])
            raise ChronolinkError(f"the columns have lengths {lengths}; a stream takes columns of one length")
        order = torch.argsort(when, stable=True)
        source, destination, rows = (column[order] for column in columns)
        return cls(source, destination, when[order], rows)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, chosen: slice | Tensor) -> EventStream:
        return EventStream(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def to(self, device: torch.device | str) -> EventStream:
        return EventStream(*(getattr(self, field.name).to(device) for field in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class TemporalGraph:
    """Events with what is known of their nodes and of themselves; absent features have width 0."""

    events: EventStream
    num_nodes: int
    node_features: Tensor  # [nodes, width] float32
    edge_features: Tensor  # [rows, width] float32, looked up by an event's id
    labels: Tensor | None = None  # [rows] int64, the source's state at the event
    names: tuple[str, ...] | None = None  # of the nodes, as the user wrote them; None: the ids themselves
    name: str = "events"
    dated: bool = False  # the times were dates, and are seconds since 1970
    origin: Mapping[str, Any] | None = None  # the arguments of `load` that bring it back

    @classmethod
    def of(cls, events: EventStream, num_nodes: int | None = None, name: str = "events") -> TemporalGraph:
        """A graph without features; the nodes are those of the events unless there are more."""
        if num_nodes is None:
            num_nodes = int(torch.maximum(events.source.max(), events.destination.max())) + 1
        rows = int(events.id.max()) + 1
        return cls(events, num_nodes, torch.empty(num_nodes, 0), torch.empty(rows, 0), name=name)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its part of a run's settings: what brings it back, or, of a graph in memory, its name."""
        return self.origin or {"data": self.name}

    def cut(self, events: EventStream) -> TemporalGraph:
        """The same nodes and features with other events."""
        return replace(self, events=events)

    def to(self, device: torch.device | str) -> TemporalGraph:
        labels = None if self.labels is None else self.labels.to(device)
        return replace(
            self,
            events=self.events.to(device),
            node_features=self.node_features.to(device),
            edge_features=self.edge_features.to(device),
            labels=labels,
        )

    def digest(self) -> str:
        """A fingerprint of everything a model can see and an answer can name: equal data, equal digest."""
        seen = hashlib.sha256(str(self.num_nodes).encode())
        stream = self.events
        columns = [stream.source, stream.destination, stream.time, stream.id]
        labels = [] if self.labels is None else [self.labels]
        for column in [*columns, self.node_features, self.edge_features, *labels]:
            seen.update(str(tuple(column.shape)).encode())
            seen.update(column.cpu().contiguous().numpy().tobytes())
        for name in self.names or ():
            seen.update(f"{len(name)} {name}".encode())
        return seen.hexdigest()
