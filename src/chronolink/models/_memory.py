"""Models that remember what they observed"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..errors import ChronolinkError, at_least_one
from ..events import EventStream
from ..history import History
from ..layers.linear import FEWEST
from ..layers.link_head import LinkHead
from ..layers.node_memory import Latest, NodeMemory, Waiting
from ..layers.recurrence import Gated, Simple
from ..model import GraphShape
from ..query import LinkQuery
from ..time_encoder import TimeEncoder
from ._embedding import EmbeddingModel


@dataclass(frozen=True, slots=True)
class Recalled:
    """Distinct memories, and where each asked one stands among them."""

    node: Tensor  # [distinct] int64
    rows: Tensor  # [distinct, width]
    place: Tensor  # [asked] int64


class MemoryModel(EmbeddingModel):
    """A memory a node, which its events update, and an embedding from it.

        m_i = [s_i, s_j, e, phi(t - t_i)]        s_i <- cell(m_i, s_i)

    for an event of i with j at t with edge features e, where t_i is when s_i was last updated. What is observed
    does not move the memory at once: the latest event of each node waits until another one is observed. `forward`
    takes the waiting events of the nodes it needs in without writing, so that the cell is learnt from them;
    `observe` writes. Of several events of a node in one batch the latest is kept.

    A waiting event is seen by questions after it alone, and is written once a later one of the same node is observed:
    events of one time never see each other, in whatever batches they come. (Elsewhere those of an earlier batch
    are seen.) s_j is taken when the event is observed, before it moves j.

    To a time encoder a message is a past of one event, t - t_i ago (zero if s_i was never updated), of rank 1.

    A variant says how i is embedded (`embed`), with which cell, and, if it is not s_j, what the message holds of j
    (`partner`). Absent edge features are left out of the message.
    """

    remembers = True

    def __init__(self, graph: GraphShape, time_encoder: TimeEncoder, cell: type[Gated | Simple], width: int) -> None:
        super().__init__()
        at_least_one(width=width)
        self.width = width
        self.memory = NodeMemory(graph.num_nodes, width)
        self.time_encoder = time_encoder
        self.cell = cell(2 * width + graph.edge_width + time_encoder.width, width)
        self.head = LinkHead(width)

    def welcome(self, num_nodes: int) -> None:
        self.memory.make_room(num_nodes)

    def reset(self) -> None:
        self.memory.forget()

    def embeddings(self, query: LinkQuery, history: History) -> tuple[Tensor, Tensor]:
        self._check(history)
        return super().embeddings(query, history)

    def observe(self, events: EventStream, history: History) -> None:
        self._check(history)
        latest = Latest.of(events)
        due = latest.node[self.memory.waits(latest.node, latest.time)]
        with torch.no_grad():
            if len(due):
                self.memory.take_in(due, self.updated(due, history))
            self.memory.let_wait(latest)

    def recall(self, node: Tensor, time: Tensor, history: History) -> Recalled:
        """The nodes' memories as questions at these times may see them."""
        seen = self.memory.waits(node, time)
        keys, place = torch.unique(node * 2 + seen, return_inverse=True)
        distinct, due = keys // 2, (keys % 2).nonzero().squeeze(1)
        rows = self.memory.state[distinct]
        if len(due):
            updated = self.updated(distinct[due], history)
            rows = rows.to(updated.dtype).index_copy(0, due, updated)
        return Recalled(distinct, rows, place)

    def updated(self, node: Tensor, history: History) -> Tensor:
        """cell(m_i, s_i) of nodes for which an event waits, [nodes, width]."""
        filled = torch.cat([node, node[:1].expand(max(0, FEWEST - len(node)))])
        waiting = self.memory.waiting(filled)
        time, basis = self.time_encoder.factors(self.time_encoder.measure(waiting.past))
        edge = history.edge_features[waiting.event]
        message = torch.cat([waiting.own, self.partner(waiting, history), edge, time.squeeze(1)], dim=1)
        return self.cell.step(message, basis, waiting.own)[: len(node)]

    def partner(self, waiting: Waiting, history: History) -> Tensor:  # noqa: ARG002
        """What the message holds of the other end, [nodes, width]."""
        return waiting.other

    def _check(self, history: History) -> None:
        known, asked = len(self.memory.state), history.num_nodes
        if known < asked:
            raise ChronolinkError(f"the memory holds {known} nodes, the graph {asked}; build the model for this graph")


def with_features(memory: Tensor, features: Tensor) -> Tensor:
    """s + x; features of less width than the memory count from its first entry on."""
    return memory + F.pad(features, (0, memory.shape[-1] - features.shape[-1])) if features.shape[-1] else memory
