"""A window of time, given or from training"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ChronolinkError
from ..events import EventStream
from ..history import History
from ..model import GraphShape, LinkModel


class Window(LinkModel):
    """A model of one constant, a span of time, and no parameters.

    Without a window given it is as long as the test split would be at the pace of the training events: 15/70 of
    their span.

    Args:
        window: a span of time, in the unit of the times.
    """

    window: Tensor

    def __init__(self, graph: GraphShape, window: float | None = None) -> None:  # noqa: ARG002
        super().__init__()
        if window is not None and not 0 < window < torch.inf:
            raise ChronolinkError(f"a window of {window} is no span of time; give a time above 0")
        self.given = window
        self.register_buffer("window", torch.tensor(window or 1.0, dtype=torch.float64))

    def prepare(self, events: EventStream, history: History) -> None:  # noqa: ARG002
        span = events.time[-1] - events.time[0]
        if self.given is None and span > 0:
            self.window.fill_(span * 15 / 70)
