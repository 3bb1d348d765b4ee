"""EdgeBank that forgets after a while"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ChronolinkError
from ..events import EventStream
from ..history import History
from ..model import GraphShape
from .edgebank import Edgebank as _Edgebank


class EdgebankWindow(_Edgebank):
    """EdgeBank with a time window: 1 if the pair met within `window` before the asked time, else -1.

    Without a window given it is as long as the test split would be at the pace of the training events: 15/70 of
    their span.

    Args:
        window: how long a meeting is remembered, in the unit of the times.
    """

    window: Tensor

    def __init__(self, graph: GraphShape, window: float | None = None) -> None:
        super().__init__(graph)
        if window is not None and not window > 0:
            raise ChronolinkError(f"a window of {window} remembers nothing; give a time above 0")
        self.given = window
        self.register_buffer("window", torch.tensor(window or torch.inf, dtype=torch.float64))

    def prepare(self, events: EventStream, history: History) -> None:  # noqa: ARG002
        if self.given is None:
            self.window.fill_((events.time[-1] - events.time[0]) * 15 / 70)

    def remembered(self, elapsed: Tensor) -> Tensor:
        return elapsed <= self.window.clamp(max=torch.finfo(torch.float64).max)
