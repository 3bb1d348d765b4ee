"""GraphMixer: an MLP over the latest events"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import at_least_one
from ..events import EventStream
from ..history import History
from ..layers.distinct import Distinct
from ..layers.event_channels import PADDED
from ..layers.linear import FEWEST, linear
from ..layers.link_head import LinkHead
from ..layers.mixer import MixerLayer
from ..layers.time_columns import time_columns
from ..layers.unrounded import unrounded
from ..model import GraphShape
from ..time_encoder import TimeEncoder
from ._embedding import EmbeddingModel


class Graphmixer(EmbeddingModel):
    """GraphMixer (Cong et al. 2023, "Do we really need complicated model architectures for temporal networks?").

        H_j = W [e_j, phi(t - t_j)] + b in the slot of the j-th latest event, 0 in a slot without one
        link(t) = the mean over slots of H after mixer layers
        node(t) = x_i + the mean of x_j over the latest `time_gap` events
        h_i(t) = W_out [link(t), node(t)] + b_out

    over events (j, t_j) strictly before t. Absent node or edge features are left out of every product, and an affine
    encoding is never built: W is applied to the number itself. Equal (node, time) are embedded once, as is having
    no past, whoever has none. The paper's own time encoder is fixed-cosine.

    Args:
        neighbours: the latest events that the mixer sees.
        time_gap: the latest events whose nodes' features are averaged.
        layers: of the mixer.
        slot_expansion: hidden width of the mixing over slots, as a multiple of the slots.
        channel_expansion: hidden width of the mixing over channels, as a multiple of the width.
        width: of a token and of an embedding.
        dropout: share of entries that a training step leaves out.
    """

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        neighbours: int = 20,
        time_gap: int = 2000,
        layers: int = 2,
        slot_expansion: float = 0.5,
        channel_expansion: float = 4.0,
        width: int = 172,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        at_least_one(neighbours=neighbours, time_gap=time_gap, layers=layers, width=width)
        self.neighbours, self.time_gap, self.width = neighbours, time_gap, width
        self.time_encoder = encoder = time_encoder.before_linear()
        self.project = linear(graph.edge_width + encoder.width, width, PADDED + encoder.width)
        slot_hidden, hidden = max(1, int(slot_expansion * neighbours)), max(1, int(channel_expansion * width))
        self.layers = nn.ModuleList(MixerLayer(neighbours, width, slot_hidden, hidden, dropout) for _ in range(layers))
        self.out = linear(width + graph.node_width, width, width + PADDED)
        self.head = LinkHead(width)

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.neighbours))

    def embed(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """h of distinct (node, time), [nodes, width]."""
        start, end = history.span(node, time)
        seen = end > start
        asked = Distinct.of(node.where(seen, 0), time.where(seen, -torch.inf))  # no past is like any other
        link = F.embedding(asked.place, self.link(asked.node, asked.time, history))
        if not history.node_features.shape[1]:
            return self.out(link)  # type: ignore[no-any-return]
        return self.out(torch.cat([link, self.around(node, time, history).to(link.dtype)], dim=1))  # type: ignore[no-any-return]

    def link(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """link(t), [nodes, width]."""
        rows, key = self.tokens(node, time, history), fold(node, history.position(time))
        *first, last = self.layers
        for layer in first:
            rows = layer(rows, key)
        return last.mean(rows, key)  # type: ignore[operator,no-any-return]

    def tokens(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """H, [nodes, neighbours, width], the latest event in the last slot."""
        past = history.before(node, time, self.neighbours)
        edges = history.edge_features[past.event[past.valid]]
        for_edges, for_time = self.project.weight.split([edges.shape[1], self.time_encoder.width], dim=1)
        number = self.time_encoder.measure(past)[past.valid]
        columns, for_columns, shift = time_columns(self.time_encoder, number, for_time)
        given = torch.cat([edges.to(columns.dtype), columns], dim=1)
        given = F.pad(given, (0, 0, 0, max(0, FEWEST - len(given))))
        weight = torch.cat([for_edges, for_columns], dim=1)
        filled = unrounded(F.linear)(given, weight, self.project.bias + shift)
        spot = past.valid.flatten().nonzero().squeeze(1)
        empty = filled.new_zeros(past.valid.numel(), self.width)
        return empty.index_copy_(0, spot, filled[: len(spot)]).view(*past.valid.shape, -1)

    def around(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """node(t), [nodes, node features]."""
        start, end = history.span(node, time)
        longest = min(self.time_gap, max(1, int((end - start).max())))
        past = history.before(node, time, longest)
        size = past.valid.sum(1)
        features = history.node_features
        mean = F.embedding_bag(past.node[past.valid], features, size.cumsum(0) - size, mode="mean")
        return features[node] + mean
