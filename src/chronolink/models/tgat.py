"""TGAT: attention over neighbours of neighbours"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import ChronolinkError, at_least_one
from ..events import EventStream
from ..history import History, Neighbours
from ..layers.distinct import Distinct
from ..layers.linear import linear
from ..layers.link_head import LinkHead
from ..layers.temporal_attention import TemporalAttention
from ..model import GraphShape
from ..sampling import SamplingName, sampling_named
from ..time_encoder import TimeEncoder
from ._embedding import EmbeddingModel


class Tgat(EmbeddingModel):
    """Temporal graph attention (Xu et al. 2020, "Inductive representation learning on temporal graphs").

        h^0_i(t) = x_i
        h^l_i(t) = W_1 ReLU(W_0 [attention^l(h^{l-1}_i(t), {h^{l-1}_j(t_j), e_j, phi(t - t_j)}), x_i] + b_0) + b_1

    over the k latest events (j, t_j) strictly before t. Absent node or edge features are left out of every product:
    the same function as with zero columns up to `width`. Equal (node, time) are embedded once.

    Args:
        layers: hops.
        heads: of the attention.
        neighbours: k, the past events a hop.
        width: of an embedding.
        dropout: share of attention weights and of attention outputs that a training step leaves out.
        sampling: which k of the past events.
    """

    at_once = 2048  # one past serves many questions: the layer below is embedded once for all of them

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        layers: int = 2,
        heads: int = 2,
        neighbours: int = 20,
        width: int = 172,
        dropout: float = 0.1,
        sampling: SamplingName = "recent",
    ) -> None:
        super().__init__()
        at_least_one(layers=layers, heads=heads, neighbours=neighbours, width=width)
        graph.check_width(width)
        if (width + time_encoder.width) % heads:
            raise ChronolinkError(
                f"width {width} + time width {time_encoder.width} cannot be shared by {heads} heads; change one of them"
            )
        self.width, self.neighbours = width, neighbours
        self.sampling = sampling_named(sampling)
        self.time_encoder = time_encoder
        inputs = [graph.node_width] + [width] * (layers - 1)
        self.layers = nn.ModuleList(
            _Layer(node_width, graph, time_encoder.width, width, heads, dropout) for node_width in inputs
        )
        self.head = LinkHead(width)

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.neighbours, self.sampling))

    def embed(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """h^layers of distinct (node, time), [nodes, width]."""
        return self._embed(node, time, history, len(self.layers))

    def _embed(self, node: Tensor, time: Tensor, history: History, layer: int) -> Tensor:
        features = history.node_features[node]
        if layer == 0:
            return features
        past = history.before(node, time, self.neighbours, self.sampling)
        own, others = self._below(node, time, past, history, layer - 1)
        channels = [
            (others, None),
            (history.edge_features[past.event], None),
            self.time_encoder.factors(self.time_encoder.measure(past)),
        ]
        key = fold(node, history.position(time), layer)
        present = [channel for channel in channels if channel[0].shape[-1]]
        return self.layers[layer - 1](own, features, self.time_encoder.now(), present, past.valid, key)  # type: ignore[no-any-return]

    def _below(
        self, node: Tensor, time: Tensor, past: Neighbours, history: History, layer: int
    ) -> tuple[Tensor, Tensor]:
        """The layer below, of the nodes themselves [nodes, .] and of their past [nodes, k, .]."""
        if layer == 0:
            return history.node_features[node], history.node_features[past.node]
        asked = Distinct.of(torch.cat([node, past.node[past.valid]]), torch.cat([time, past.time[past.valid]]))
        embedding = self._embed(asked.node, asked.time, history, layer)
        place = torch.zeros_like(past.node).masked_scatter_(past.valid, asked.place[len(node) :])
        return F.embedding(asked.place[: len(node)], embedding), F.embedding(place, embedding)


class _Layer(nn.Module):
    """Attention over the past, then an MLP on its output and the raw node features."""

    def __init__(
        self, node_width: int, graph: GraphShape, time_width: int, width: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.width = width
        self.attention = TemporalAttention(
            width=width + time_width,
            inputs=node_width + time_width,
            channels=node_width + graph.edge_width + time_width,
            fan_in=2 * width + time_width,
            heads=heads,
            dropout=dropout,
        )
        self.hidden = linear(width + time_width + graph.node_width, width, 2 * width + time_width)
        self.out = nn.Linear(width, width)

    def forward(
        self,
        own: Tensor,
        features: Tensor,
        now: Tensor,
        past: list[tuple[Tensor, Tensor | None]],
        valid: Tensor,
        key: Tensor,
    ) -> Tensor:
        own = own if own.shape[-1] else own.new_empty(1, 0)  # without features all nodes ask the same
        now = now.expand(len(own), -1)
        residual = torch.cat([own, own.new_zeros(len(own), self.width - own.shape[-1]), now], dim=-1)
        attended = self.attention(torch.cat([own, now], dim=-1), residual, past, valid, key)
        hidden = torch.relu(self.hidden(torch.cat([attended, features], dim=-1)))
        return self.out(hidden)  # type: ignore[no-any-return]
