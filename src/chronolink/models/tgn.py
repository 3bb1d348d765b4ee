"""TGN: attention over what nodes remember"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import at_least_one
from ..events import EventStream
from ..history import History
from ..layers.distinct import Distinct
from ..layers.memory_attention import MemoryAttention
from ..layers.recurrence import Gated
from ..model import GraphShape
from ..sampling import SamplingName, sampling_named
from ..time_encoder import TimeEncoder
from ._memory import MemoryModel, with_features


class Tgn(MemoryModel):
    """Temporal graph network (Rossi et al. 2020, "Temporal graph networks for deep learning on dynamic graphs").

        s_i <- GRU([s_i, s_j, e, phi(t - t_i)], s_i)        h^0_i(t) = s_i + x_i
        h^l_i(t) = W_1 ReLU(W_0 [attention^l(h^{l-1}_i(t), {h^{l-1}_j(t_j), e_j, phi(t - t_j)}), h^0_i(t)] + b_0) + b_1

    over the k latest events (j, t_j) strictly before t; every memory, a neighbour's too, is as it stands at the
    asked time. The one time encoder serves messages and attention; it is fitted on the attention's elapsed times.

    Args:
        layers: hops.
        heads: of the attention.
        neighbours: k, the past events a hop.
        width: of a memory and of an embedding.
        dropout: share of attention weights and of attention outputs that a training step leaves out.
        sampling: which k of the past events.
    """

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        layers: int = 1,
        heads: int = 2,
        neighbours: int = 10,
        width: int = 172,
        dropout: float = 0.1,
        sampling: SamplingName = "recent",
    ) -> None:
        at_least_one(layers=layers, heads=heads, neighbours=neighbours)
        graph.check_width(width)
        super().__init__(graph, time_encoder, Gated, width)
        self.neighbours, self.sampling = neighbours, sampling_named(sampling)
        self.layers = nn.ModuleList(
            MemoryAttention(graph.edge_width, time_encoder.width, width, heads, dropout) for _ in range(layers)
        )

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.neighbours, self.sampling))

    def embed(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        return self._embed(node, time, time, history, len(self.layers))[0]

    def _embed(self, node: Tensor, time: Tensor, moment: Tensor, history: History, layer: int) -> tuple[Tensor, Tensor]:
        """h^layer and h^0 of (node, time), for questions asked at a moment."""
        past = history.before(node, time, self.neighbours, self.sampling)
        nodes, times = torch.cat([node, past.node.flatten()]), torch.cat([time, past.time.flatten()])
        moments = torch.cat([moment, moment.repeat_interleave(self.neighbours)])
        below, first, place = self._below(nodes, times, moments, history, layer - 1)
        own_place, place = place[: len(node)], place[len(node) :].view(past.node.shape)
        own = F.embedding(own_place, below)
        first = own if first is below else F.embedding(own_place, first)
        key = fold(node, history.position(time), layer)
        others = F.embedding(place, below)
        return self.layers[layer - 1](own, first, others, past, history, self.time_encoder, key), first

    def _below(
        self, node: Tensor, time: Tensor, moment: Tensor, history: History, layer: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """h^layer and h^0 of what is distinct among the asked, and where each asked one stands there."""
        if layer == 0:
            recalled = self.recall(node, moment, history)
            rows = with_features(recalled.rows, history.node_features[recalled.node])
            return rows, rows, recalled.place
        moments, index = torch.unique(moment, return_inverse=True)
        asked = Distinct.of(node * len(moments) + index, time)
        node, moment = asked.node // len(moments), moments[asked.node % len(moments)]
        return *self._embed(node, asked.time, moment, history, layer), asked.place
