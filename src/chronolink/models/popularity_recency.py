"""Popularity and recency, added up"""

from __future__ import annotations

import torch
from torch import Tensor

from ..history import History
from ..model import GraphShape
from ..query import LinkQuery
from .popularity import Popularity as _Popularity
from .recency import Recency as _Recency


class PopularityRecency(_Popularity, _Recency):
    """The sum of the scores of popularity and recency, each from 0 to 1. Nothing is learnt.

    Args:
        window: how long an event counts, and the elapsed time at which recency's f is 1/2; 15/70 of the training
            events' span if left out.
    """

    def __init__(self, graph: GraphShape, window: float | None = None) -> None:
        super().__init__(graph, window)

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return (self.popularity(query, history) + self.recency(query, history)).to(torch.get_default_dtype())
