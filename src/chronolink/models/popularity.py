"""Popularity: who was met often lately"""

from __future__ import annotations

import torch
from torch import Tensor

from ..history import History
from ..layers.arrivals import Arrivals
from ..model import GraphShape
from ..query import LinkQuery
from ._window import Window


class Popularity(Window):
    """c / (c + m): c events of the last `window` had the asked destination, and m is how many an average node had.

    An event counts for its destination alone, and only if it lies strictly before the asked time. A node that nobody
    met scores 0, an average one 1/2; m makes busy and quiet stretches of the stream comparable. Nothing is learnt.
    How far popularity goes: Daniluk and Dabrowski (2023, "Temporal graph models fail to capture global temporal
    dynamics").

    Args:
        window: how long an event counts, in the unit of the times; 15/70 of the training events' span if left out.
    """

    def __init__(self, graph: GraphShape, window: float | None = None) -> None:
        super().__init__(graph, window)
        self.arrivals = Arrivals()

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return self.popularity(query, history).to(torch.get_default_dtype())

    def popularity(self, query: LinkQuery, history: History) -> Tensor:
        """[questions] float64, from 0 to 1."""
        start, end = history.position(query.time - self.window), history.position(query.time)
        count = self.arrivals.count(history, query.destination, start, end).double()
        average = (end - start).double() / history.num_nodes
        return count / (count + average).clamp(min=torch.finfo(torch.float64).tiny)
