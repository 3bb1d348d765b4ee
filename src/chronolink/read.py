"""Events from files, frames and tables"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import torch
from torch import Tensor

from .errors import ChronolinkError
from .events import EventStream, TemporalGraph
from .readers.features import chosen_columns, read_features, read_labels
from .readers.nodes import Nodes, read_names
from .readers.tables import Table, read_table
from .readers.times import is_dated, read_times

log = logging.getLogger("chronolink")


class Columns(TypedDict, total=False):
    """What `read_events` can be told of a table."""

    source: str
    destination: str
    time: str
    edge_features: str | Sequence[str]
    label: str | None
    node_features: Any
    node: str
    name: str | None


def read_events(
    events: Any,
    *,
    source: str = "source",
    destination: str = "destination",
    time: str = "time",
    edge_features: str | Sequence[str] = (),
    label: str | None = None,
    node_features: Any = None,
    node: str = "node",
    name: str | None = None,
) -> TemporalGraph:
    """The temporal graph of a table with one row an event.

    Names of nodes are integers or text, and sources and destinations share them. Integers are numbered by value and
    text by spelling, so the order of the rows plays no part. Events out of order are sorted, those of equal time
    keep their order, and the log says so in one line.

    Args:
        events: a path (.csv, .tsv, both also .gz, .parquet), a pandas or polars frame, or an Arrow table.
        source: the column of the sources' names.
        destination: the column of the destinations' names.
        time: a column of numbers, taken as they are, or of dates, taken as seconds since 1970.
        edge_features: columns by name, or by prefix as in `feature_*`; on the command line with commas between.
        label: a column of integers, the source's state at the event.
        node_features: a second table; its column `node` names the node, all others are features. Nodes without a
            row get zeros. Rows of nodes without events are left out, with a line in the log that counts them.
        node: the column of names in the second table.
        name: what to call the graph; a file's own name if left out.
    """
    table = read_table(events)
    if len(table) < 2:
        raise ChronolinkError(f"{table.place}: one event only; give at least two")
    if source == destination:
        raise ChronolinkError(f"{table.place}: '{source}' is given as source and as destination; name two columns")
    nodes = Nodes.of(table, (source, destination))
    taken = {source, destination, time, *([label] if label else [])}
    return TemporalGraph(
        events=_stream(table, nodes, source, destination, time),
        num_nodes=len(nodes),
        node_features=_node_features(node_features, node, nodes),
        edge_features=read_features(table, chosen_columns(table, edge_features, taken)),
        labels=read_labels(table, label) if label else None,
        names=nodes.kept(),
        name=name or _name(events),
        dated=is_dated(table, time),
    )


def _stream(table: Table, nodes: Nodes, source: str, destination: str, time: str) -> EventStream:
    ends = [nodes.find(read_names(table, end)).to_numpy(writable=True) for end in (source, destination)]
    when = torch.from_numpy(read_times(table, time).to_numpy(writable=True))
    return in_order(table.place, torch.from_numpy(ends[0]), torch.from_numpy(ends[1]), when)


def in_order(place: str, source: Tensor, destination: Tensor, time: Tensor, id: Tensor | None = None) -> EventStream:
    """The stream of these columns, sorted where that is needed, which the log then tells."""
    late = int((time[1:] < time[:-1]).sum())
    if late:
        log.warning("%s: sorted by time (out of order: %d)", place, late)
    return EventStream.sorted(source, destination, time, id)


def _node_features(features: Any, node: str, nodes: Nodes) -> Tensor:
    if features is None:
        return torch.empty(len(nodes), 0)
    table = read_table(features, "node features")
    names = read_names(table, node)
    table.forbid(names.is_duplicated(), lambda line: f"{node} {names[line]!r} has two rows; keep one of them")
    place = nodes.find(names)
    known = place.is_not_null()
    if not known.any():
        raise table.error(0, f"{node} {names[0]!r} occurs in no event, nor does any other; check the names")
    if not known.all():
        log.warning("%s: left out nodes without events (rows: %d)", table.place, len(known) - int(known.sum()))
    rows = read_features(table, chosen_columns(table, "*", {node}))
    wide = torch.zeros(len(nodes), rows.shape[1])
    wide[torch.from_numpy(place.filter(known).to_numpy(writable=True))] = rows[torch.from_numpy(known.to_numpy())]
    return wide


def _name(events: object) -> str:
    return Path(events).name.partition(".")[0] if isinstance(events, str | Path) else "events"
