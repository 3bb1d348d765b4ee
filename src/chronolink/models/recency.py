"""Recency: who met last meets next"""

from __future__ import annotations

import torch
from torch import Tensor

from ..history import History
from ..query import LinkQuery
from ._window import Window


class Recency(Window):
    """1 + f(t - t_pair) for a pair that met before, f(t - t_destination) for one that did not, halved.

    f(elapsed) = window / (window + elapsed), from 1 down to 0 for what never happened; t_pair is the pair's last
    meeting and t_destination the destination's last event of either role, both strictly before t. So every pair that
    met comes before every pair that did not, and the order within does not depend on the window. Nothing is learnt.

    Args:
        window: elapsed time at which f is 1/2, in the unit of the times; 15/70 of the training events' span if left
            out.
    """

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return self.recency(query, history).to(torch.get_default_dtype())

    def recency(self, query: LinkQuery, history: History) -> Tensor:
        """[questions] float64, from 0 to 1."""
        met = query.time - history.last_meeting(query.source, query.destination, query.time)
        latest = history.before(query.destination, query.time, 1)
        seen = latest.elapsed.masked_fill(~latest.valid, torch.inf).squeeze(1)
        return torch.where(met.isfinite(), 1 + self.freshness(met), self.freshness(seen)) / 2

    def freshness(self, elapsed: Tensor) -> Tensor:
        return self.window / (self.window + elapsed)
