"""GraphMixer as its paper writes it, one question at a time, and the usual padded way"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.layers.mixer import MixerLayer
from chronolink.models.graphmixer import Graphmixer
from chronolink.query import LinkQuery

PADDED = 172


def scores(model: Graphmixer, query: LinkQuery, history: History) -> Tensor:
    """Logits of all questions, each computed alone."""
    columns = zip(query.source.tolist(), query.destination.tolist(), query.time.tolist(), strict=True)
    return torch.stack([_score(model, *question, history) for question in columns])


def _score(model: Graphmixer, source: int, destination: int, time: float, history: History) -> Tensor:
    both = torch.cat([_embedding(model, node, time, history) for node in (source, destination)])
    return model.head.out(torch.relu(model.head.hidden(both))).squeeze(0)


def _embedding(model: Graphmixer, node: int, time: float, history: History) -> Tensor:
    rows = _tokens(model, node, time, history)
    for layer in model.layers:
        rows = _mixed(layer, rows)
    return model.out(torch.cat([sum(rows) / len(rows), _around(model, node, time, history)]))


def _past(node: int, time: float, history: History, most: int) -> list[tuple[int, int, float]]:
    """The other end, the event and its time, oldest first, found by walking the stream."""
    stream = history.graph.events
    found = []
    for source, destination, when, event in zip(
        stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), stream.id.tolist(), strict=True
    ):
        if when < time and node in (source, destination):
            found.append((destination if node == source else source, event, when))
    return found[-most:]


def _tokens(model: Graphmixer, node: int, time: float, history: History) -> list[Tensor]:
    past = _past(node, time, history, model.neighbours)
    asked = history.before(torch.tensor([node]), torch.tensor([time], dtype=torch.float64), model.neighbours)
    numbers = model.time_encoder.measure(asked)[0]
    rows = [torch.zeros(model.width, dtype=torch.float64) for _ in range(model.neighbours)]
    for slot, (_, event, _) in enumerate(past, model.neighbours - len(past)):
        encoded = model.time_encoder.encode(numbers[slot])
        rows[slot] = model.project(torch.cat([history.edge_features[event], encoded]))
    return rows


def _mixed(layer: MixerLayer, rows: list[Tensor]) -> list[Tensor]:
    normed = [layer.slot_norm(row) for row in rows]
    by_channel = torch.stack([layer.spread(F.gelu(layer.gather(channel))) for channel in torch.stack(normed, dim=1)])
    rows = [row + by_channel[:, slot] for slot, row in enumerate(rows)]
    return [row + layer.narrow(F.gelu(layer.wide(layer.norm(row)))) for row in rows]


def _around(model: Graphmixer, node: int, time: float, history: History) -> Tensor:
    features, past = history.node_features, _past(node, time, history, model.time_gap)
    total = torch.zeros_like(features[node])
    for other, _, _ in past:
        total = total + features[other] / len(past)
    return features[node] + total


class PaddedGraphmixer:
    """What a `Graphmixer` computes, the usual way: absent features are zeros up to 172 that are projected, every
    question is embedded anew, all slots are encoded and projected, and the default dropout.
    """

    def __init__(self, model: Graphmixer, history: History, dropout: float = 0.0) -> None:
        self.model, self.history, self.dropout = model, history, dropout
        dtype = model.out.weight.dtype
        self.node_features = F.pad(history.node_features.to(dtype), (0, PADDED - history.node_features.shape[1]))
        self.edge_features = F.pad(history.edge_features.to(dtype), (0, PADDED - history.edge_features.shape[1]))

    def __call__(self, query: LinkQuery) -> Tensor:
        both = [self.embed(node, query.time) for node in (query.source, query.destination)]
        head = self.model.head
        return head.out(torch.relu(head.hidden(torch.cat(both, dim=1)))).squeeze(1)

    def embed(self, node: Tensor, time: Tensor) -> Tensor:
        rows = self._tokens(node, time)
        for layer in self.model.layers:
            rows = self._mixed(layer, rows)
        out, absent = self.model.out, PADDED - self.history.node_features.shape[1]
        both = torch.cat([rows.mean(1), self._around(node, time)], dim=1)
        return F.linear(both, F.pad(out.weight, (0, absent)), out.bias)

    def _tokens(self, node: Tensor, time: Tensor) -> Tensor:
        past, encoder = self.history.before(node, time, self.model.neighbours), self.model.time_encoder
        project = self.model.project
        edges, own = self.edge_features[past.event], self.history.edge_features.shape[1]
        given = torch.cat([edges, encoder.encode(encoder.measure(past))], dim=2)
        weight = torch.cat([F.pad(project.weight[:, :own], (0, PADDED - own)), project.weight[:, own:]], dim=1)
        return F.linear(given, weight, project.bias) * past.valid.unsqueeze(2)

    def _mixed(self, layer: MixerLayer, rows: Tensor) -> Tensor:
        hidden = F.dropout(F.gelu(layer.gather(layer.slot_norm(rows).transpose(1, 2))), self.dropout)
        rows = rows + F.dropout(layer.spread(hidden), self.dropout).transpose(1, 2)
        hidden = F.dropout(F.gelu(layer.wide(layer.norm(rows))), self.dropout)
        return rows + F.dropout(layer.narrow(hidden), self.dropout)

    def _around(self, node: Tensor, time: Tensor) -> Tensor:
        past = self.history.before(node, time, self.model.time_gap)
        weight = torch.softmax(past.valid.to(self.node_features.dtype).masked_fill(~past.valid, -1e10), dim=1)
        weight = weight * past.valid.any(1, keepdim=True)
        return self.node_features[node] + (self.node_features[past.node] * weight.unsqueeze(2)).sum(1)
