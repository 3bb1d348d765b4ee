"""A history that events are appended to"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from .errors import ChronolinkError
from .events import EventStream, TemporalGraph
from .history import History, read_rows
from .layers.distinct import Distinct
from .sampling import bisect

LEAST_ROOM = 4  # of a node's block


class GrowingHistory(History):
    """The strict past of a stream that goes on: appending costs the same however long the stream is, on average.

    A node's events stand side by side in a block that has room to spare. One that is full moves to the end of the file
    and gets twice the room it needs, so every entry is moved a few times at most. Columns grow in the same way.
    Answers are those of a `History` of all events so far; a look-up at a past time takes a binary search in the
    node's block.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self._given = graph.cut(graph.events[:0])
        self.size, self.version = 0, 0
        self._stream = {name: _Column(getattr(self._given.events, name)) for name in EventStream.__slots__}
        self._both = _Column(self._given.events.source)
        self._edges, self._nodes = _Column(graph.edge_features), _Column(graph.node_features)
        none = self._given.events.source
        self._blocks = {name: _Column(none) for name in ("start", "count", "room")}
        self._positions = _Column(none.new_zeros(1))  # a first entry, so that any index can be read
        self.num_nodes = 0
        self.welcome(graph.num_nodes)
        self._take(graph.events)

    @property
    def graph(self) -> TemporalGraph:
        """All events so far as one graph; this costs a pass over them."""
        events = EventStream(*(self._stream[name].rows for name in EventStream.__slots__))
        return TemporalGraph(events, self.num_nodes, self.node_features, self.edge_features, name=self._given.name)

    @property
    def time(self) -> Tensor:
        return self._stream["time"].rows

    @property
    def node_features(self) -> Tensor:
        return self._nodes.rows

    @property
    def edge_features(self) -> Tensor:
        return self._edges.rows

    def welcome(self, num_nodes: int) -> None:
        """Makes room for nodes up to this number; those that are new have no past and zeros as features."""
        more = num_nodes - self.num_nodes
        if more > 0:
            for column in self._blocks.values():
                column.extend(torch.zeros(more, dtype=torch.int64))
            missing = num_nodes - len(self._nodes.rows)
            self._nodes.extend(self._nodes.rows.new_zeros(missing, self._nodes.rows.shape[1]))
            self.num_nodes = num_nodes

    def append(self, source: Tensor, destination: Tensor, time: Tensor, edge_features: Tensor) -> EventStream:
        """Takes events in, none of them older than the last; returns them with their rows in the edge features."""
        rows = torch.arange(len(time)) + len(self.edge_features)
        events = EventStream(source, destination, time, rows)
        if self.size and len(events) and float(time[0]) < float(self.time[-1]):
            raise ChronolinkError(
                f"an event at {float(time[0]):.17g} is older than the last one at {float(self.time[-1]):.17g}; "
                "append events in the order of their times"
            )
        self._edges.extend(edge_features)
        self._take(events)
        return events

    def _take(self, events: EventStream) -> None:
        position = torch.arange(len(events)) + self.size
        for name, column in self._stream.items():
            column.extend(getattr(events, name))
        self._both.extend(events.source + events.destination)
        other = events.source != events.destination
        self._file(torch.cat([events.source, events.destination[other]]), torch.cat([position, position[other]]))
        self.size += len(events)
        self.version += 1

    def _file(self, node: Tensor, position: Tensor) -> None:
        """Writes positions, ascending within a node, behind those that the nodes have."""
        order = torch.argsort(position, stable=True)
        order = order[torch.argsort(node[order], stable=True)]
        nodes, more = torch.unique_consecutive(node[order], return_counts=True)
        start, count = self._blocks["start"].rows, self._blocks["count"].rows
        self._make_room(nodes, count[nodes] + more)
        index = _ranges(start[nodes] + count[nodes], more)
        self._positions.rows[index] = position[order]
        count[nodes] += more

    def _make_room(self, nodes: Tensor, wanted: Tensor) -> None:
        """Moves the blocks that are too small."""
        start, count, room = (self._blocks[name].rows for name in ("start", "count", "room"))
        small = wanted > room[nodes]
        nodes, wanted = nodes[small], wanted[small]
        if not len(nodes):
            return
        size = (2 * wanted).clamp(min=LEAST_ROOM)
        begin = len(self._positions.rows) + size.cumsum(0) - size
        self._positions.extend(torch.zeros(int(size.sum()), dtype=torch.int64))
        moved = self._positions.rows[_ranges(start[nodes], count[nodes])]
        self._positions.rows[_ranges(begin, count[nodes])] = moved
        start[nodes], room[nodes] = begin, size

    def span(self, node: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        start = self._blocks["start"].rows[node]
        end = start + self._blocks["count"].rows[node]
        position = self.position(time)
        if bool((position < self.size).any()):
            end = bisect(self._positions.room, start, end, position)
        return start, end

    def filed_at(self, index: Tensor, node: Tensor) -> Tensor:  # noqa: ARG002
        return read_rows(self._positions.rows, index)

    def events_at(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        columns = (self._both.room, self._stream["id"].room, self._stream["time"].room)
        both_ends, event, time = (read_rows(column, position) for column in columns)
        return both_ends, event, time

    def filed(self) -> tuple[Tensor, Tensor]:
        """Of every entry of the file, a spare one too: its block's first, and its time (zero if it is spare)."""
        start, count = self._blocks["start"].rows, self._blocks["count"].rows
        first = torch.arange(len(self._positions.rows))
        time = torch.zeros(len(first), dtype=torch.float64)
        index = _ranges(start, count)
        first[index] = torch.repeat_interleave(start, count)
        time[index] = self.time[self._positions.rows[index]]
        return first, time

    def last_meeting(self, source: Tensor, destination: Tensor, time: Tensor) -> Tensor:
        asked = Distinct.of(source, time)
        start, end = self.span(asked.node, asked.time)
        group = torch.repeat_interleave(torch.arange(len(start)), end - start)
        position = self._positions.rows[_ranges(start, end - start)]
        outgoing = self._stream["source"].rows[position] == asked.node[group]
        group, position = group[outgoing], position[outgoing]
        met, order = (group * self.num_nodes + self._stream["destination"].rows[position]).sort(stable=True)
        wanted = asked.place * self.num_nodes + destination
        latest = torch.searchsorted(met, wanted, right=True) - 1
        known = latest >= 0
        known[known.clone()] = met[latest[known]] == wanted[known]
        last = torch.full_like(time, -torch.inf)
        last[known] = self.time[position[order[latest[known]]]]
        return last

    def positions(self, node: Tensor, time: float) -> Tensor:
        """Where in the stream all events of one node, [1], strictly before a time stand."""
        start, end = self.span(node, torch.tensor([time], dtype=torch.float64))
        return self.filed_at(torch.arange(int(start), int(end)), node)

    def event(self, position: int) -> tuple[int, int, float]:
        """Source, destination and time of one event."""
        source, destination = (int(self._stream[name].rows[position]) for name in ("source", "destination"))
        return source, destination, float(self.time[position])

    @contextmanager
    def without(self, position: int) -> Iterator[None]:
        """The past as if one event had not been filed."""
        ends = {int(self._stream[name].rows[position]) for name in ("source", "destination")}
        kept = {node: self._entries(node).clone() for node in ends}
        for node, entries in kept.items():
            self._refile(node, entries[entries != position])
        try:
            yield
        finally:
            for node, entries in kept.items():
                self._refile(node, entries)

    def _entries(self, node: int) -> Tensor:
        start, count = (int(self._blocks[name].rows[node]) for name in ("start", "count"))
        return self._positions.rows[start : start + count]

    def _refile(self, node: int, entries: Tensor) -> None:
        self._blocks["count"].rows[node] = len(entries)
        self._entries(node).copy_(entries)
        self.version += 1


class _Column:
    """Rows with room for more: twice as much whenever it is full."""

    def __init__(self, rows: Tensor) -> None:
        self.room, self.size = rows, len(rows)

    @property
    def rows(self) -> Tensor:
        return self.room[: self.size]

    def extend(self, more: Tensor) -> None:
        size = self.size + len(more)
        if size >= len(self.room):  # one spare row at least: a binary search may look just behind the last
            room = self.room.new_zeros(2 * size + 1, *self.room.shape[1:])
            room[: self.size] = self.rows
            self.room = room
        self.room[self.size : size] = more
        self.size = size


def _ranges(start: Tensor, length: Tensor) -> Tensor:
    """start[0], start[0] + 1, ..., so many as its length, then those of start[1], and so on."""
    before = length.cumsum(0) - length
    return torch.arange(int(length.sum())) + torch.repeat_interleave(start - before, length)
