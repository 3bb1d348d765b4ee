"""JODIE: memories projected into the future"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..events import EventStream
from ..history import History
from ..layers.dropout import Dropout
from ..layers.recurrence import Simple
from ..model import GraphShape
from ..time_encoder import Standardise, TimeEncoder
from ._memory import MemoryModel


class Jodie(MemoryModel):
    """JODIE (Kumar et al. 2019, "Predicting dynamic embedding trajectory in temporal interaction networks").

        s_i <- tanh(W [s_i, s_j, e, phi(t - t_i)] + U s_i + b)        h_i(t) = (1 + w z + c) s_i

    where z is the standardised time since s_i was last updated. One cell serves sources and destinations, as in the
    family's common form (Rossi et al. 2020). Encoder and z are fitted on the time since a node's previous event. A
    linear encoder has no weights of its own, as the cell maps it linearly. Node features are not used.

    Args:
        width: of a memory and of an embedding.
        dropout: share of an embedding's entries that a training step leaves out.
    """

    def __init__(self, graph: GraphShape, time_encoder: TimeEncoder, width: int = 172, dropout: float = 0.1) -> None:
        super().__init__(graph, time_encoder.before_linear(), Simple, width)
        self.scale = Standardise()
        self.drift = nn.Linear(1, width)
        self.dropout = Dropout(dropout)

    def prepare(self, events: EventStream, history: History) -> None:
        previous = history.before_both_ends(events, 1)
        self.time_encoder.fit(previous)
        self.scale.fit(previous)

    def embed(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        recalled = self.recall(node, time, history)
        memory = F.embedding(recalled.place, recalled.rows)
        z = self.scale(self.memory.elapsed(node, time)).to(memory.dtype).unsqueeze(1)
        projected = (1 + z * self.drift.weight.squeeze(1) + self.drift.bias) * memory
        return self.dropout(projected, fold(node, history.position(time)))  # type: ignore[no-any-return]
