"""Events by their destination, counted without loops"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..history import History


class Arrivals:
    """How often a node was a destination in a stretch of the stream.

    Every event is filed as `destination * events + position`, sorted, once until the history grows: two binary
    searches give a count.
    """

    def __init__(self) -> None:
        self._filed: WeakKeyDictionary[History, tuple[int, Tensor]] = WeakKeyDictionary()

    def count(self, history: History, node: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """Of the events at positions from `start` up to but not `end`, those whose destination is the node."""
        filed, first = self._of(history), node * history.size
        return torch.searchsorted(filed, first + end) - torch.searchsorted(filed, first + start)

    def _of(self, history: History) -> Tensor:
        version, filed = self._filed.get(history, (-1, None))
        if filed is None or version != history.version:
            destination = history.graph.events.destination
            place = torch.arange(history.size, device=destination.device)
            filed = (destination * history.size + place).sort().values
            self._filed[history] = (history.version, filed)
        return filed
