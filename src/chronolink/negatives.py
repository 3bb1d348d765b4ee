"""Links that did not happen: random, historical, inductive"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from .events import EventStream
from .query import LinkQuery

BLOCK = 200  # events that share a draw, whatever the batch size of training or scoring

NegativesName = Literal["random", "historical", "inductive"]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Negatives(ABC):
    """One link beside every event that did not happen then, drawn in blocks of 200 events.

    A draw is a function of the seed and of the block's number.
    """

    def __init__(self, stream: EventStream, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        self.destinations = np.unique(stream.destination.cpu().numpy())

    def beside(self, events: EventStream, seed: int, epoch: int = 0) -> LinkQuery:
        """The negatives of a whole part of the stream, in the order of its events."""
        source, destination = events.source.cpu().numpy().copy(), events.destination.cpu().numpy().copy()
        time = events.time.cpu().numpy()
        for block, start in enumerate(range(0, len(events), BLOCK)):
            cut = slice(start, start + BLOCK)
            random = np.random.default_rng([seed, epoch, block])
            source[cut], destination[cut] = self.draw(source[cut], destination[cut], time[cut], random)
        device = events.time.device
        return LinkQuery(torch.from_numpy(source).to(device), torch.from_numpy(destination).to(device), events.time)

    @abstractmethod
    def draw(
        self, source: Integers, destination: Integers, time: Floats, random: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Sources and destinations for one block of events."""

    def anywhere(self, size: int, random: np.random.Generator) -> Integers:
        """Destinations, uniform over all."""
        return random.choice(self.destinations, size)

    def elsewhere(self, source: Integers, happened: Integers, random: np.random.Generator) -> Integers:
        """For each source a destination, uniform over those with which it makes none of these sorted pairs."""
        chosen = self.anywhere(len(source), random)
        for _ in range(64):
            clash = np.flatnonzero(_among(source * self.num_nodes + chosen, happened))
            if len(clash) == 0:
                return chosen
            chosen[clash] = self.anywhere(len(clash), random)
        for place in clash:  # sources that meet nearly every destination; one that meets them all keeps what it has
            free = self.destinations[~_among(source[place] * self.num_nodes + self.destinations, happened)]
            chosen[place] = random.choice(free) if len(free) else chosen[place]
        return chosen


class RandomNegatives(Negatives):
    """The same source with a destination that is uniform over all, as the benchmark tests with.

    In a dense graph it may draw a link that does happen: a model that knows them all is then held to be wrong.
    """

    def draw(
        self,
        source: Integers,
        destination: Integers,  # noqa: ARG002
        time: Floats,  # noqa: ARG002
        random: np.random.Generator,
    ) -> tuple[Integers, Integers]:
        return source, self.anywhere(len(source), random)


class OtherNegatives(Negatives):
    """The same source with a destination that it does not meet within the block, where there is one."""

    def draw(
        self,
        source: Integers,
        destination: Integers,
        time: Floats,  # noqa: ARG002
        random: np.random.Generator,
    ) -> tuple[Integers, Integers]:
        return source, self.elsewhere(source, np.unique(source * self.num_nodes + destination), random)


class HistoricalNegatives(Negatives):
    """Pairs that met before the block and do not meet from its first time to its last, without replacement
    (Poursafaei et al. 2022).

    The candidates are a prefix of the pairs ordered by first meeting; where they run out, the rest is random.
    """

    def __init__(self, stream: EventStream, num_nodes: int, after: float = -np.inf) -> None:
        super().__init__(stream, num_nodes)
        self.keys: Integers = (stream.source * num_nodes + stream.destination).cpu().numpy()
        self.time: Floats = stream.time.cpu().numpy()
        pairs, first = np.unique(self.keys, return_index=True)
        order = np.argsort(first)
        self.pairs: Integers = pairs[order]
        self.first_meeting = self.time[first[order]]
        self.skipped = int(np.searchsorted(self.first_meeting, after, side="right"))
        self._meeting = lru_cache(maxsize=1)(self._meet)  # blocks of one moment have their meetings in common

    def draw(
        self,
        source: Integers,
        destination: Integers,  # noqa: ARG002
        time: Floats,
        random: np.random.Generator,
    ) -> tuple[Integers, Integers]:
        start, last = float(time[0]), float(time[-1])
        happened = self._meeting(start, last)
        known = self.pairs[self.skipped : int(np.searchsorted(self.first_meeting, start))]
        chosen = _without_replacement(known, happened, len(source), random)
        old_source, old_destination = np.divmod(chosen, self.num_nodes)
        rest = source[len(chosen) :]
        return (
            np.concatenate([old_source, rest]),
            np.concatenate([old_destination, self.elsewhere(rest, happened, random)]),
        )

    def _meet(self, start: float, last: float) -> Integers:
        """The pairs that meet between these times, both included, sorted."""
        between = slice(np.searchsorted(self.time, start), np.searchsorted(self.time, last, side="right"))
        return np.unique(self.keys[between])


def _without_replacement(known: Integers, excluded: Integers, size: int, random: np.random.Generator) -> Integers:
    """Up to `size` distinct members of `known` in random order, none of them excluded."""
    if len(known) <= 4 * (size + len(excluded)):
        return random.permutation(known[~_among(known, excluded)])[:size]
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:  # at least three draws in four are new
        tried = np.concatenate([chosen, known[random.integers(len(known), size=size)]])
        tried = tried[np.sort(np.unique(tried, return_index=True)[1])]
        chosen = tried[~_among(tried, excluded)]
    return chosen[:size]


def _among(values: Integers, sorted_values: Integers) -> NDArray[np.bool_]:
    place = np.searchsorted(sorted_values, values)
    return np.equal(sorted_values[np.minimum(place, len(sorted_values) - 1)], values)


def negatives_named(name: NegativesName, stream: EventStream, num_nodes: int, last_train: float) -> Negatives:
    """`inductive` is historical without the pairs that met up to the end of training."""
    if name == "random":
        return RandomNegatives(stream, num_nodes)
    return HistoricalNegatives(stream, num_nodes, last_train if name == "inductive" else -np.inf)
