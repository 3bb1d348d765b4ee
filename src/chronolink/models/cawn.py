"""CAWN: anonymous walks into the past"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import at_least_one
from ..events import EventStream
from ..history import History
from ..layers.anonymity import AnonymousIdentity, Identities
from ..layers.distinct import Distinct
from ..layers.link_head import LinkHead
from ..layers.prefixes import Names, Prefixes
from ..layers.product import product
from ..layers.walk_attention import WalkAttention
from ..layers.walk_lstm import Steps, WalkLstm
from ..layers.walks import draw_walks, taken
from ..model import GraphShape, PairModel
from ..query import LinkQuery
from ..sampling import SamplingName, sampling_named
from ..time_encoder import TimeEncoder


class Cawn(PairModel):
    """Causal anonymous walks (Wang et al. 2021, "Inductive representation learning in temporal networks via causal
    anonymous walks").

        S_u: walks from u back in time, each hop strictly before the last one
        I(w) = F(g(w, S_u)) + F(g(w, S_v)),   g(w, S)_i = share of walks in S that have w at position i
        x_i = [node_i, edge_i, phi(t - t_i), I(w_i)]     the walk's root has elapsed 0 and no edge
        walk = W [BiLSTM(x_0 ... x_l), BiLSTM'(I(w_0) ... I(w_l))] + b, each read at the last step
        h_u = W_0 mean(transformer layer over all walks of u) + b_0

    A walk ends where nothing earlier is left; a node without a past has walks that are itself alone. Walks that begin
    alike are encoded alike, once. Absent features are left out of every product: the same function as with zero
    columns up to `width`.

    Args:
        heads: of the attention over walks.
        neighbours: walks a node.
        length: hops a walk.
        width: of an embedding and of an identity.
        dropout: share of entries that a training step leaves out.
        sampling: which past events the walks take.
    """

    def __init__(
        self,
        graph: GraphShape,
        time_encoder: TimeEncoder,
        heads: int = 8,
        neighbours: int = 32,
        length: int = 1,
        width: int = 172,
        dropout: float = 0.1,
        sampling: SamplingName = "time_interval_aware",
    ) -> None:
        super().__init__()
        at_least_one(heads=heads, neighbours=neighbours, length=length, width=width)
        self.neighbours, self.length, self.width = neighbours, length, width
        self.sampling = sampling_named(sampling)
        self.time_encoder = time_encoder
        present = graph.node_width + graph.edge_width + time_encoder.width + width
        padded = 3 * width + time_encoder.width
        inner = -(-(padded // 2) // heads) * heads
        self.identity = AnonymousIdentity(length + 1, width)
        self.of_steps = WalkLstm(present, padded // 2)
        self.of_identities = WalkLstm(width, width // 2)
        self.join = nn.Linear(padded // 2 * 2 + width // 2 * 2, inner)
        self.attention = WalkAttention(inner, heads, dropout)
        self.out = nn.Linear(inner, width)
        self.head = LinkHead(width)

    def prepare(self, events: EventStream, history: History) -> None:
        self.time_encoder.fit(history.before_both_ends(events, self.neighbours, self.sampling))

    def embeddings(self, query: LinkQuery, history: History) -> tuple[Tensor, Tensor]:
        node, time = torch.cat([query.source, query.destination]), query.time.repeat(2)
        asked = Distinct.of(node, time)
        drawn = draw_walks(history, asked.node, asked.time, self.neighbours, self.length, self.sampling)
        walks = taken(drawn, asked.place)
        identities = Identities.of(node, walks, history.num_nodes)
        number, now = self.time_encoder.measure(walks), self.time_encoder.number(time.new_zeros(()))
        prefixes = Prefixes.of(asked.place, node, now, walks, number, identities)
        rows, end = self.encode(prefixes, self.identity(identities), history)
        question = fold(node, node.roll(len(query)), history.position(time)).unsqueeze(1)
        key = fold(question, torch.arange(self.neighbours, device=node.device))
        source, destination = self.out(self.attention(rows, end, key)).chunk(2)
        return source, destination

    def encode(self, prefixes: Prefixes, table: Tensor, history: History) -> tuple[Tensor, Tensor]:
        """Distinct walks [walks, inner], and which of them each end's walks are."""
        ends, end = torch.unique(prefixes.end, return_inverse=True)
        steps = Steps(*self._known(prefixes, history), prefixes.identity, table)
        states = self.of_steps(steps, prefixes.tree, ends)
        named, place = self._named(prefixes.names(), table, ends)
        return _joined(F.embedding(place, named), states, self.join.weight), end

    def _named(self, names: Names, table: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """What the distinct walks of identities give to the join, and which of them each end is."""
        shown, place = torch.unique(names.place[ends], return_inverse=True)
        lstm, nothing = self.of_identities, table.new_zeros(len(names.identity), 0)
        states = lstm(Steps(nothing, None, names.identity, table), names.tree, shown)
        for_names = self.join.weight[:, -2 * lstm.recurrent.in_features :]
        return _joined(self.join.bias, states, for_names), place

    def _known(self, prefixes: Prefixes, history: History) -> tuple[Tensor, Tensor | None]:
        """Node features, edge features and time of each step; of an affine encoding the number and one, and a basis."""
        number = prefixes.number
        time, lines = self.time_encoder.factors(number)
        past = torch.arange(len(number), device=number.device) >= prefixes.tree.sizes[0]
        features = history.node_features[prefixes.node], history.edge_features[prefixes.event] * past.unsqueeze(1)
        known = torch.cat([*(part.to(number.dtype) for part in features), time], dim=1)
        if lines is None:
            return known, None
        ones = torch.ones(known.shape[1] - time.shape[1], dtype=lines.dtype, device=lines.device)
        return known, torch.block_diag(torch.diag(ones), lines)


def _joined(given: Tensor, states: tuple[Tensor, Tensor], weight: Tensor) -> Tensor:
    """`given` and W [ahead, back], by the first columns of W; the two directions are never laid side by side."""
    hidden = states[0].shape[1]
    for number, state in enumerate(states):
        given = given + product(state, weight[:, number * hidden : (number + 1) * hidden])
    return given
