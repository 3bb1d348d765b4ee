"""What nodes remember, and what waits"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..events import EventStream
from ..history import Neighbours

NEVER = -torch.inf
_TIMES = ("updated", "time")


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest event of each node in a stream, as seen from that node."""

    node: Tensor  # [nodes] int64, distinct
    other: Tensor  # [nodes] int64, the other end
    event: Tensor  # [nodes] int64, row in the edge features
    time: Tensor  # [nodes] float64

    @classmethod
    def of(cls, events: EventStream) -> Latest:
        node, place = torch.unique(torch.cat([events.source, events.destination]), return_inverse=True)
        order = torch.arange(len(events), device=node.device).repeat(2)
        last = torch.zeros_like(node).scatter_reduce_(0, place, order, "amax")
        other = (events.source + events.destination)[last] - node
        return cls(node, other, events.id[last], events.time[last])


@dataclass(frozen=True, slots=True)
class Waiting:
    """The events that some nodes have yet to take into their memory."""

    node: Tensor  # [nodes] int64
    own: Tensor  # [nodes, width], the node's memory
    other: Tensor  # [nodes, width], the other end's memory just before the event
    past: Neighbours  # [nodes, 1], the event; its elapsed time is that since the node's last update

    @property
    def partner(self) -> Tensor:
        return self.past.node.squeeze(1)

    @property
    def event(self) -> Tensor:
        return self.past.event.squeeze(1)

    @property
    def time(self) -> Tensor:
        return self.past.time.squeeze(1)


class NodeMemory(nn.Module):
    """A vector a node, the time of the event it took in last, and the one event that waits to be taken in.

    All are buffers, so `state_dict` is the backup. A node that never took an event in was updated at -inf, which is
    no time: what has elapsed since then is zero, wherever the clock begins.
    """

    state: Tensor  # [nodes, width]
    updated: Tensor  # [nodes] float64
    other: Tensor  # [nodes] int64
    event: Tensor  # [nodes] int64
    time: Tensor  # [nodes] float64, -inf where nothing waits
    other_state: Tensor  # [nodes, width]

    def __init__(self, nodes: int, width: int) -> None:
        super().__init__()
        for name in ("state", "other_state"):
            self.register_buffer(name, torch.zeros(nodes, width))
        for name in ("other", "event"):
            self.register_buffer(name, torch.zeros(nodes, dtype=torch.int64))
        for name in _TIMES:
            self.register_buffer(name, torch.full((nodes,), NEVER, dtype=torch.float64))

    def make_room(self, nodes: int) -> None:
        """For nodes up to this number, and where that is too few, for twice as many: nodes come one after another."""
        known = len(self.state)
        if nodes <= known:
            return
        for name, buffer in list(self.named_buffers()):
            more = buffer.new_full((2 * nodes - known, *buffer.shape[1:]), NEVER if name in _TIMES else 0)
            self.register_buffer(name, torch.cat([buffer, more]))

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *rest: Any) -> None:
        """A memory that has met more nodes than this one is loaded whole."""
        kept = len(state.get(f"{prefix}state", self.state))
        if kept > len(self.state):
            for name, buffer in list(self.named_buffers()):
                self.register_buffer(name, buffer.new_zeros(kept, *buffer.shape[1:]))
        super()._load_from_state_dict(state, prefix, *rest)

    def forget(self) -> None:
        for buffer in (self.state, self.other_state, self.other, self.event):
            buffer.zero_()
        for time in (self.updated, self.time):
            time.fill_(NEVER)

    def waits(self, node: Tensor, time: Tensor) -> Tensor:
        """Whether an event waits that lies strictly before the time; where none waits, its time is -inf."""
        waiting = self.time[node]
        return (waiting < time) & waiting.isfinite()

    def elapsed(self, node: Tensor, time: Tensor) -> Tensor:
        """Since the event that the node took in last, of those that a question at that time may see."""
        last = torch.where(self.waits(node, time), self.time[node], self.updated[node])
        return (time - last).masked_fill(last.isinf(), 0.0)

    def waiting(self, node: Tensor) -> Waiting:
        time, last = self.time[node], self.updated[node]
        elapsed = (time - last).masked_fill(last.isinf(), 0.0)
        columns = (self.other[node], self.event[node], time, elapsed, torch.ones_like(node, dtype=torch.bool))
        past = Neighbours(*(column.unsqueeze(1) for column in columns))
        return Waiting(node, self.state[node], self.other_state[node], past)

    def take_in(self, node: Tensor, state: Tensor) -> None:
        """The nodes' memory after the events that waited."""
        self.state[node] = state.to(self.state.dtype)
        self.updated[node] = self.time[node]

    def let_wait(self, latest: Latest) -> None:
        """These events wait from now on, in the place of those before them."""
        self.other[latest.node], self.event[latest.node] = latest.other, latest.event
        self.time[latest.node] = latest.time
        self.other_state[latest.node] = self.state[latest.other]
