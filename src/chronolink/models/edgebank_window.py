"""EdgeBank that forgets after a while"""

from __future__ import annotations

from torch import Tensor

from ..history import History
from ..query import LinkQuery
from ._window import Window


class EdgebankWindow(Window):
    """EdgeBank with a time window: 1 if the pair met strictly before the asked time and within `window` of it, else -1.

    Args:
        window: how long a meeting is remembered, in the unit of the times; 15/70 of the training events' span if left
            out.
    """

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        last = history.last_meeting(query.source, query.destination, query.time)
        return (query.time - last <= self.window).float() * 2 - 1
