"""Acquaintance: who is awake, who met lately"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import at_least_one
from ..events import EventStream
from ..history import History
from ..model import GraphShape, LinkModel
from ..query import LinkQuery
from ..time_encoder import TimeEncoder


class Acquaintance(LinkModel):
    """logit = W_1 ReLU(W_0 [phi(dt_source), phi(dt_destination), met, f(dt_pair)] + b_0) + b_1.

    dt_source and dt_destination are the times since either end's last event, with features of zero where there was
    none; met is 1 for a pair that met before, and f(dt) = s / (s + dt), s being the mean wait of the training events.

    Args:
        width: of the hidden layer.
    """

    wait: Tensor

    def __init__(self, graph: GraphShape, time_encoder: TimeEncoder, width: int = 32) -> None:  # noqa: ARG002
        super().__init__()
        at_least_one(width=width)
        self.time_encoder = time_encoder
        self.hidden = nn.Linear(2 * time_encoder.width + 2, width)
        self.out = nn.Linear(width, 1)
        self.register_buffer("wait", torch.ones((), dtype=torch.float64))

    def prepare(self, events: EventStream, history: History) -> None:
        past = history.before_both_ends(events, 1)
        self.time_encoder.fit(past)
        if bool(past.valid.any()):
            self.wait.fill_(past.elapsed[past.valid].mean())

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        ends = [self._latest(node, query.time, history) for node in (query.source, query.destination)]
        known = torch.cat([*ends, self._pair(query, history)], dim=1)
        return self.out(torch.relu(self.hidden(known))).squeeze(1)  # type: ignore[no-any-return]

    def _latest(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """phi of the time since a node's last event, [questions, width]."""
        past = history.before(node, time, 1)
        features = self.time_encoder.encode(self.time_encoder.measure(past))
        return (features * past.valid.unsqueeze(-1)).squeeze(1)

    def _pair(self, query: LinkQuery, history: History) -> Tensor:
        """met and f, [questions, 2]; a pair that never met has an infinite wait."""
        elapsed = query.time - history.last_meeting(query.source, query.destination, query.time)
        known = torch.stack([elapsed.isfinite().double(), self.wait / (self.wait + elapsed)], dim=1)
        return known.to(self.out.weight.dtype)
