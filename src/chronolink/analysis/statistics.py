"""Counts, spans and waiting times of streams"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..events import EventStream, TemporalGraph
from ..split import SHARES, boundaries

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Waits:
    """Time since a node's previous event, in the unit of the times; nan where no node had one."""

    count: int
    mean: float
    median: float

    @classmethod
    def of(cls, waits: NDArray[np.float64]) -> Waits:
        if not len(waits):
            return cls(0, float("nan"), float("nan"))
        return cls(len(waits), float(waits.mean()), float(np.median(waits)))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the split; no node is held out, so training counts all of its events."""

    name: str
    events: int
    source: Waits
    destination: Waits


@dataclass(frozen=True, slots=True)
class Description:
    """What there is to know of a stream before a model sees it."""

    name: str
    nodes: int  # that have an event
    events: int
    pairs: int  # distinct and ordered
    times: int  # distinct
    first: float
    last: float
    span: float
    repeat_rate: float  # share of events whose pair met before, in the order of the stream
    last_train: float
    last_validation: float
    node_features: int
    edge_features: int
    parts: tuple[Part, Part, Part]


def describe(graph: TemporalGraph, shares: Sequence[float] = SHARES) -> Description:
    """The statistics of a graph, with the split at these shares of the event times."""
    stream = graph.events
    first, last = float(stream.time[0]), float(stream.time[-1])
    last_train, last_validation = boundaries(stream.time, shares)
    pairs = _pairs(stream)
    return Description(
        name=graph.name,
        nodes=len(torch.unique(torch.cat([stream.source, stream.destination]))),
        events=len(stream),
        pairs=pairs,
        times=1 + int((stream.time[1:] > stream.time[:-1]).sum()),
        first=first,
        last=last,
        span=last - first,
        repeat_rate=1 - pairs / len(stream),
        last_train=last_train,
        last_validation=last_validation,
        node_features=graph.node_features.shape[1],
        edge_features=graph.edge_features.shape[1],
        parts=_parts(stream, last_train, last_validation),
    )


def waiting_times(stream: EventStream) -> NDArray[np.float64]:
    """[events, 2]: for source and destination, time since its previous event in either role; nan at its first.

    Ordered by node and then by position, a node's previous event is the neighbour in the order.
    """
    ends = torch.stack([stream.source, stream.destination], dim=1).reshape(-1)
    node, order = torch.sort(ends, stable=True)
    event = order // 2
    time = stream.time[event]
    waits = torch.full_like(time, float("nan"))
    known = node[1:] == node[:-1]
    waits[1:][known] = (time[1:] - time[:-1])[known]
    # an event from a node to itself stands there twice, and is not its own past
    twice = torch.nonzero(known & (event[1:] == event[:-1])).squeeze(1)
    waits[twice + 1] = waits[twice]
    found = torch.empty_like(waits)
    found[order] = waits
    return found.reshape(-1, 2).numpy()


def waits_by_part(
    stream: EventStream, last_train: float, last_validation: float
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The source's and the destination's waiting times in each part, first appearances left out."""
    waits = waiting_times(stream)
    start, stop = _cuts(stream, last_train, last_validation)
    pieces = zip(PARTS, (waits[:start], waits[start:stop], waits[stop:]), strict=True)
    return {name: (_known(piece[:, 0]), _known(piece[:, 1])) for name, piece in pieces}


def _parts(stream: EventStream, last_train: float, last_validation: float) -> tuple[Part, Part, Part]:
    start, stop = _cuts(stream, last_train, last_validation)
    sizes = (start, stop - start, len(stream) - stop)
    waits = waits_by_part(stream, last_train, last_validation)
    train, validation, test = (
        Part(name, size, Waits.of(waits[name][0]), Waits.of(waits[name][1]))
        for name, size in zip(PARTS, sizes, strict=True)
    )
    return train, validation, test


def _cuts(stream: EventStream, last_train: float, last_validation: float) -> tuple[int, int]:
    """How many events are no later than each boundary."""
    start, stop = np.searchsorted(stream.time.numpy(), [last_train, last_validation], side="right")
    return int(start), int(stop)


def _pairs(stream: EventStream) -> int:
    width = int(stream.destination.max()) + 1
    return len(torch.unique(stream.source * width + stream.destination))


def _known(waits: NDArray[np.float64]) -> NDArray[np.float64]:
    known: NDArray[np.float64] = waits[~np.isnan(waits)]
    return known
