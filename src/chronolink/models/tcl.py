"""TCL: two transformers that ask each other"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import ChronolinkError, at_least_one
from ..events import EventStream
from ..history import History
from ..layers.distinct import Distinct
from ..layers.event_channels import PADDED, Tokens
from ..layers.linear import linear
from ..layers.link_head import LinkHead
from ..layers.packing import Packing
from ..layers.post_norm import PostNormLayer
from ..layers.time_columns import time_columns
from ..layers.transformer import Rows
from ..model import GraphShape, PairModel
from ..query import LinkQuery
from ..time_encoder import TimeEncoder


class Tcl(PairModel):
    """TCL (Wang et al. 2021, "TCL: transformer-based dynamic graph modelling via contrastive learning").

        Z_j = W_x x_j + W_e e_j + W_t phi(t - t_j) + b + depth_j     the node itself (depth 0), its j-th latest events
        Z^l = layer^l(Z^{l-1}, Z^{l-1})                              each node's rows among themselves
        h_i(t) = W_out layer^L(Z^L_i, Z^L_partner)_0 + b_out         the node's own row asks its partner's rows

    as DyGLib has it (Yu et al. 2023): the weights are shared by both kinds of attention, and the attention between the
    two reaches the embedding from the last layer alone, so it is computed there, for one row a node. What comes
    before it does not know the partner: equal (node, time) are computed once. Padding takes no part, and absent
    features are left out of every product.

    Args:
        neighbours: past events of a node at most.
        layers: transformer layers.
        heads: of the attention.
        width: of a row and of an embedding.
        dropout: share of entries that a training step leaves out.
    """

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        neighbours: int = 20,
        layers: int = 2,
        heads: int = 2,
        width: int = 172,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        at_least_one(neighbours=neighbours, layers=layers, heads=heads, width=width)
        if width % heads:
            raise ChronolinkError(f"a width of {width} cannot be shared by {heads} heads; change one of them")
        self.neighbours = neighbours
        self.time_encoder = encoder = time_encoder.before_linear()
        self.node = linear(graph.node_width, width, PADDED)
        self.edge = linear(graph.edge_width, width, PADDED)
        self.time = nn.Linear(encoder.width, width)
        self.depth = nn.Embedding(neighbours + 1, width)
        self.layers = nn.ModuleList(PostNormLayer(width, heads, dropout) for _ in range(layers))
        self.out = nn.Linear(width, width)
        self.head = LinkHead(width)

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.neighbours))

    def embeddings(self, query: LinkQuery, history: History) -> tuple[Tensor, Tensor]:
        asked = Distinct.of(torch.cat([query.source, query.destination]), query.time.repeat(2))
        given = self.rows(asked.node, asked.time, history)
        rows = given.through(self.layers)
        own, partner = asked.place, asked.place.roll(len(query))
        key = fold(asked.node[own], asked.node[partner], history.position(asked.time[own]))
        padded = given.packing.pad(rows, 1).flatten(2).squeeze(0)
        others = F.embedding(partner, padded).unflatten(1, (*given.packing.filled.shape[1:], -1))
        filled = given.packing.filled[partner]
        embedding = self.layers[-1].ask(F.embedding(own, rows), others, filled, key)  # type: ignore[operator]
        source, destination = self.out(embedding).chunk(2)
        return source, destination

    def rows(self, node: Tensor, time: Tensor, history: History) -> Rows:
        """The nodes' own rows first, then those of their events; rows of one (node, time) attend to each other."""
        past = history.before(node, time, self.neighbours)
        place = torch.arange(len(node), device=node.device)
        group = torch.cat([place, place.unsqueeze(1).expand(past.valid.shape)[past.valid]])
        depth = torch.cat([torch.zeros_like(place), past.rank[past.valid].long()])
        now = self.time_encoder.number(torch.zeros_like(time))
        number = torch.cat([now, self.time_encoder.measure(past)[past.valid]])
        nodes = history.node_features[torch.cat([node, past.node[past.valid]])]
        edges = F.pad(history.edge_features[past.event[past.valid]], (0, 0, len(node), 0))
        key = fold(fold(node, history.position(time))[group], depth)
        return Rows(self.tokens(nodes, edges, number, depth), Packing.of(group, depth, len(node)), key)

    def tokens(self, nodes: Tensor, edges: Tensor, number: Tensor, depth: Tensor) -> Tokens:
        """Z as the product of few numbers: features, time, and a one in the column of its depth."""
        columns, for_time, shift = time_columns(self.time_encoder, number, self.time.weight)
        one = F.one_hot(depth, self.neighbours + 1)
        table = self.depth.weight + self.node.bias + self.edge.bias + self.time.bias + shift
        numbers = torch.cat([part.to(columns.dtype) for part in (nodes, edges, columns, one)], dim=1)
        return Tokens(numbers, torch.cat([self.node.weight.T, self.edge.weight.T, for_time.T, table]))
