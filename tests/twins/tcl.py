"""TCL one question at a time, and the usual padded way"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.layers.post_norm import PostNormLayer
from chronolink.models.tcl import Tcl
from chronolink.query import LinkQuery

PADDED = 172


def scores(model: Tcl, query: LinkQuery, history: History) -> Tensor:
    """Logits of all questions, each computed alone."""
    columns = zip(query.source.tolist(), query.destination.tolist(), query.time, strict=True)
    return torch.stack([_score(model, *question, history) for question in columns])


def _score(model: Tcl, source: int, destination: int, time: Tensor, history: History) -> Tensor:
    first, second = (_tokens(model, node, time, history) for node in (source, destination))
    for layer in model.layers:
        first, second = _transformed(layer, first, first), _transformed(layer, second, second)
        across = _transformed(layer, first, second), _transformed(layer, second, first)
    both = torch.cat([model.out(rows[0]) for rows in across])
    return model.head.out(torch.relu(model.head.hidden(both))).squeeze(0)


def _tokens(model: Tcl, node: int, time: Tensor, history: History) -> Tensor:
    """The node itself, then its events, the latest first."""
    past = history.before(torch.tensor([node]), time.view(1), model.neighbours)
    numbers, encoder = model.time_encoder.measure(past)[0], model.time_encoder
    nothing = history.edge_features.new_zeros(history.edge_features.shape[1])
    events = [(node, nothing, encoder.number(torch.zeros_like(time)))]
    for slot in reversed(past.valid[0].nonzero().flatten().tolist()):
        edge = history.edge_features[past.event[0, slot]]
        events.append((int(past.node[0, slot]), edge, numbers[slot]))
    rows = []
    for depth, (other, edge, number) in enumerate(events):
        features = model.node(history.node_features[other]) + model.edge(edge)
        rows.append(features + model.time(encoder.encode(number)) + model.depth.weight[depth])
    return torch.stack(rows)


def _transformed(layer: PostNormLayer, rows: Tensor, others: Tensor) -> Tensor:
    query = layer.query_key_value(rows).chunk(3, dim=1)[0].chunk(layer.heads, dim=1)
    _, keys, values = (part.chunk(layer.heads, dim=1) for part in layer.query_key_value(others).chunk(3, dim=1))
    heads = [torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v for q, k, v in zip(query, keys, values, strict=True)]
    rows = layer.attention_norm(rows + layer.mix(torch.cat(heads, dim=1)))
    return layer.norm(rows + layer.narrow(torch.relu(layer.wide(rows))))


class PaddedTcl:
    """What a `Tcl` computes, the usual way: absent features are zeros up to 172 that are projected, all sequences are
    as long as the longest may be, every row of every layer asks both sequences, and the default dropout.
    """

    def __init__(self, model: Tcl, history: History, dropout: float = 0.0) -> None:
        self.model, self.history, self.dropout = model, history, dropout
        dtype = model.out.weight.dtype
        self.node_features = F.pad(history.node_features.to(dtype), (0, PADDED - history.node_features.shape[1]))
        self.edge_features = F.pad(history.edge_features.to(dtype), (0, PADDED - history.edge_features.shape[1]))

    def __call__(self, query: LinkQuery) -> Tensor:
        first, there = self._tokens(query.source, query.time)
        second, also = self._tokens(query.destination, query.time)
        for layer in self.model.layers:
            first = self._transformed(layer, first, first, there)
            second = self._transformed(layer, second, second, also)
            across = self._transformed(layer, first, second, also), self._transformed(layer, second, first, there)
        both = torch.cat([self.model.out(rows[:, 0]) for rows in across], dim=1)
        return self.model.head.out(torch.relu(self.model.head.hidden(both))).squeeze(1)

    def _tokens(self, node: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        model, past = self.model, self.history.before(node, time, self.model.neighbours)
        now = model.time_encoder.number(torch.zeros_like(time)).unsqueeze(1)
        number = torch.cat([now, model.time_encoder.measure(past).flip(1)], dim=1)
        nodes = self.node_features[torch.cat([node.unsqueeze(1), past.node.flip(1)], dim=1)]
        edges = F.pad(self.edge_features[past.event.flip(1)], (0, 0, 1, 0))
        features = F.linear(nodes, _padded(model.node.weight), model.node.bias)
        features = features + F.linear(edges, _padded(model.edge.weight), model.edge.bias)
        rows = features + model.time(model.time_encoder.encode(number)) + model.depth.weight
        return rows, F.pad(past.valid.flip(1), (1, 0), value=True)

    def _transformed(self, layer: PostNormLayer, rows: Tensor, others: Tensor, there: Tensor) -> Tensor:
        for_query, for_others = layer.query_key_value.weight.split([rows.shape[2], 2 * rows.shape[2]])
        query_bias, others_bias = layer.query_key_value.bias.split([rows.shape[2], 2 * rows.shape[2]])
        parts = [F.linear(rows, for_query, query_bias), *F.linear(others, for_others, others_bias).chunk(2, dim=2)]
        query, keys, values = (part.unflatten(2, (layer.heads, -1)).transpose(1, 2) for part in parts)
        found = query @ keys.transpose(2, 3) / query.shape[-1] ** 0.5
        found = torch.softmax(found.masked_fill(~there[:, None, None, :], -1e30), dim=-1)
        mixed = layer.mix((F.dropout(found, self.dropout) @ values).transpose(1, 2).flatten(2))
        rows = layer.attention_norm(rows + F.dropout(mixed, self.dropout))
        wide = F.dropout(torch.relu(layer.wide(rows)), self.dropout)
        return layer.norm(rows + F.dropout(layer.narrow(wide), self.dropout))


def _padded(weight: Tensor) -> Tensor:
    return F.pad(weight, (0, PADDED - weight.shape[1]))
