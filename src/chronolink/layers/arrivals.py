"""Events by their destination, counted without loops"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..history import History


class Arrivals:
    """How often a node was a destination in a stretch of the stream.

    Every event is filed as `destination * events + position`, sorted, once a history: two binary searches give a
    count.
    """

    def __init__(self) -> None:
        self._filed: WeakKeyDictionary[History, Tensor] = WeakKeyDictionary()

    def count(self, history: History, node: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """Of the events at positions from `start` up to but not `end`, those whose destination is the node."""
        filed, first = self._of(history), node * history.size
        return torch.searchsorted(filed, first + end) - torch.searchsorted(filed, first + start)

    def _of(self, history: History) -> Tensor:
        if history not in self._filed:
            destination = history.graph.events.destination
            place = torch.arange(history.size, device=destination.device)
            self._filed[history] = (destination * history.size + place).sort().values
        return self._filed[history]
