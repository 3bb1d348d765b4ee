"""DyRep: messages gathered from the other's neighbours"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from ..draws import fold
from ..errors import at_least_one
from ..events import EventStream
from ..history import History
from ..layers.memory_attention import MemoryAttention
from ..layers.node_memory import Waiting
from ..layers.recurrence import Simple
from ..model import GraphShape
from ..sampling import SamplingName, sampling_named
from ..time_encoder import TimeEncoder
from ._memory import MemoryModel, with_features


class Dyrep(MemoryModel):
    """DyRep (Trivedi et al. 2019, "DyRep: learning representations over dynamic graphs").

        s_i <- tanh(W [s_i, g_j(t), e, phi(t - t_i)] + U s_i + b)        h_i(t) = s_i
        g_j(t) = W_1 ReLU(W_0 [attention(s_j + x_j, {s_l + x_l, e_l, phi(t - t_l)}), s_j + x_j] + b_0) + b_1

    over the k latest events (l, t_l) of j strictly before its event with i at t. The family's common form (Rossi et
    al. 2020) of the paper's localised embedding propagation: graph attention where the paper takes a maximum. g_j is
    formed when the message is used, from the memories s_l of then, so that the attention is learnt, too. The one
    time encoder serves messages and attention; it is fitted on the attention's elapsed times.

    Args:
        heads: of the attention.
        neighbours: k, the past events of the other end.
        width: of a memory and of an embedding.
        dropout: share of attention weights and of attention outputs that a training step leaves out.
        sampling: which k of the past events.
    """

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        heads: int = 2,
        neighbours: int = 10,
        width: int = 172,
        dropout: float = 0.1,
        sampling: SamplingName = "recent",
    ) -> None:
        at_least_one(heads=heads, neighbours=neighbours)
        graph.check_width(width)
        super().__init__(graph, time_encoder, Simple, width)
        self.neighbours, self.sampling = neighbours, sampling_named(sampling)
        self.gather = MemoryAttention(graph.edge_width, time_encoder.width, width, heads, dropout)

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.neighbours, self.sampling))

    def embed(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        recalled = self.recall(node, time, history)
        return F.embedding(recalled.place, recalled.rows)

    def partner(self, waiting: Waiting, history: History) -> Tensor:
        node, time = waiting.partner, waiting.time
        past = history.before(node, time, self.neighbours, self.sampling)
        own = with_features(waiting.other, history.node_features[node])
        others = with_features(self.memory.state[past.node], history.node_features[past.node])
        key = fold(waiting.node, node, history.position(time))
        return self.gather(own, own, others, past, history, self.time_encoder, key)  # type: ignore[no-any-return]
