"""A transformer over each node's own events"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from ..errors import ChronolinkError, at_least_one
from ..events import EventStream
from ..history import History
from ..layers.event_channels import EventChannels
from ..layers.link_head import LinkHead
from ..layers.packing import Packing
from ..layers.sequences import Sequences
from ..layers.transformer import Rows, TransformerLayer
from ..model import GraphShape, PairModel
from ..query import LinkQuery
from ..time_encoder import TimeEncoder


class FirstHop(PairModel):
    """Tokens from the first-hop histories of both asked nodes, transformer layers, one embedding a node.

    A variant says which rows attend to each other (`packing`) and, where it is not the mean of its rows, what becomes
    a node's embedding (`embed`).

    Args:
        length: events in a sequence at most, the asked one among them.
        patch: events a token.
        channel: width of the node, edge and co-occurrence channels.
        time_channel: width of the time channel; as the others if left out.
        layers: transformer layers.
        heads: of the attention.
        width: of an embedding.
        dropout: share of entries that a training step leaves out.
    """

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        length: int = 32,
        patch: int = 1,
        channel: int = 50,
        time_channel: int | None = None,
        layers: int = 2,
        heads: int = 2,
        width: int = 172,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        at_least_one(patch=patch, channel=channel, layers=layers, heads=heads, width=width)
        time_channel = channel if time_channel is None else time_channel
        inner = 3 * channel + time_channel
        if length < 2:
            raise ChronolinkError(f"length is {length}; a sequence holds the asked event and at least one before it")
        if inner % heads:
            raise ChronolinkError(f"{inner} channels cannot be shared by {heads} heads; change one of them")
        self.length, self.patch = length, patch
        self.time_encoder = encoder = time_encoder.before_linear()
        self.channels = EventChannels(graph.node_width, graph.edge_width, encoder, patch, channel, time_channel)
        self.layers = nn.ModuleList(TransformerLayer(inner, heads, dropout) for _ in range(layers))
        self.out = nn.Linear(inner, width)
        self.head = LinkHead(width)
        self.add_parameters(inner)

    def add_parameters(self, inner: int) -> None:
        """What a variant learns besides."""

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.length - 1))

    def embeddings(self, query: LinkQuery, history: History) -> tuple[Tensor, Tensor]:
        sequences = Sequences.of(query, history, self.time_encoder, self.length, self.patch)
        rows = self.rows(sequences, history, 2 * len(query))
        source, destination = self.out(self.embed(rows, sequences, 2 * len(query))).chunk(2)
        return source, destination

    def rows(self, sequences: Sequences, history: History, count: int) -> Rows:
        """What the layers are given: a row a patch."""
        tokens = self.channels(sequences, history.node_features, history.edge_features)
        return Rows(tokens, self.packing(sequences, count), sequences.key)

    def embed(self, given: Rows, sequences: Sequences, count: int) -> Tensor:
        """One row a sequence, [count, inner]: the mean of what the last layer gives."""
        rows = given.through(self.layers)
        summed = rows.new_zeros(count, rows.shape[1]).index_add(0, sequences.sequence, rows)
        return summed / torch.bincount(sequences.sequence, minlength=count).unsqueeze(1)

    @abstractmethod
    def packing(self, sequences: Sequences, count: int) -> Packing:
        """Which rows attend to each other."""
