"""Which past events a model sees"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Literal, Self
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from .draws import fold, fraction

if TYPE_CHECKING:
    from .history import History

SamplingName = Literal["recent", "uniform", "time_interval_aware"]


class Sampling(ABC):
    """Chooses k of the filed events that lie before each asked time, oldest first."""

    @abstractmethod
    def choose(self, history: History, node: Tensor, time: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Indices [..., k] among the filed events, and which of them are valid."""

    def keyed(self, key: Tensor) -> Self:  # noqa: ARG002
        """The same way of choosing, with draws of its own for each asked entry: `key` has the shape of the nodes."""
        return self


class Recent(Sampling):
    """The latest k."""

    def choose(self, history: History, node: Tensor, time: Tensor, k: int) -> tuple[Tensor, Tensor]:
        start, end = history.span(node, time)
        index = end.unsqueeze(-1) + torch.arange(-k, 0, device=end.device)
        valid = index >= start.unsqueeze(-1)
        return index.clamp_(min=0), valid


class Uniform(Sampling):
    """k of all past events, each as likely as any other, with replacement.

    A draw depends on the seed, the node, the number of events before the asked time and the slot, and on nothing
    else: a question gets the same sample alone and in any batch.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed: int | Tensor = seed

    def keyed(self, key: Tensor) -> Self:
        other = copy(self)
        other.seed = fold(self.seed, key).unsqueeze(-1)
        return other

    def choose(self, history: History, node: Tensor, time: Tensor, k: int) -> tuple[Tensor, Tensor]:
        start, end = history.span(node, time)
        slot = torch.arange(k, device=end.device)
        mixed = fold(self.seed, node.unsqueeze(-1), history.position(time).unsqueeze(-1), slot)
        index = self.pick(history, node.unsqueeze(-1), start.unsqueeze(-1), end.unsqueeze(-1), fraction(mixed))
        valid = (start < end).unsqueeze(-1).expand(index.shape)
        return index.masked_fill(~valid, 0).sort(dim=-1).values, valid

    def pick(self, history: History, node: Tensor, start: Tensor, end: Tensor, share: Tensor) -> Tensor:  # noqa: ARG002
        """The event at a share in (0, 1) of the past's whole weight."""
        return start + (share * (end - start)).to(torch.int64)


class TimeIntervalAware(Uniform):
    """k past events, with replacement, an event at t' drawn with weight exp(scale * (t' - t)).

    The logarithm of the summed weight of a node's first j events, L_j = log sum_{i <= j} exp(scale (t_i - t_1)),
    never overflows; a draw u finds the first j with L_j >= L_last + log u. CAWN (Wang et al. 2021).
    """

    def __init__(self, seed: int = 0, scale: float = 1e-6) -> None:
        super().__init__(seed)
        self.scale = scale
        self._sums: WeakKeyDictionary[History, tuple[int, Tensor]] = WeakKeyDictionary()

    def pick(self, history: History, node: Tensor, start: Tensor, end: Tensor, share: Tensor) -> Tensor:  # noqa: ARG002
        if history.size == 0:
            return start.expand(share.shape)
        sums = self._sums_of(history)
        wanted = sums[(end - 1).clamp(min=0)] + share.log()
        return bisect(sums, start.expand(wanted.shape), (end - 1).expand(wanted.shape), wanted)

    def _sums_of(self, history: History) -> Tensor:
        """Kept until the history grows."""
        version, sums = self._sums.get(history, (-1, None))
        if sums is None or version != history.version:
            sums = summed_weights(history, self.scale)
            self._sums[history] = (history.version, sums)
        return sums


def bisect(values: Tensor, low: Tensor, high: Tensor, wanted: Tensor) -> Tensor:
    """The first index from `low` on with a value of at least the wanted one, `high` if there is none before it."""
    while bool((low < high).any()):
        middle = (low + high) // 2
        enough = values[middle] >= wanted
        high = torch.where(enough, middle, high)
        low = torch.where(enough, low, torch.minimum(middle + 1, high))
    return low


def summed_weights(history: History, scale: float) -> Tensor:
    """L_j of every filed event, by doubling: after step s a sum covers the latest 2s events of its node."""
    first, time = history.filed()
    sums, step = scale * (time - time[first]), 1
    reach = torch.arange(len(first), device=first.device) - first
    while step <= int(reach.max()):
        earlier = torch.where(reach[step:] >= step, sums[:-step], -torch.inf)
        sums = torch.cat([sums[:step], torch.logaddexp(sums[step:], earlier)])
        step *= 2
    return sums


RECENT = Recent()


def sampling_named(name: SamplingName, seed: int = 0) -> Sampling:
    if name == "recent":
        return RECENT
    return Uniform(seed) if name == "uniform" else TimeIntervalAware(seed)
