"""TGAT as the paper's appendix writes it, every width padded to the full one"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.models.tgat import Tgat
from chronolink.query import LinkQuery


class PaddedTgat:
    """The function that a `Tgat` must equal, computed the long way with that model's own weights.

    Node and edge features are padded with zeros to `width`, every neighbour is encoded and projected to a key and a
    value, every question is embedded anew however often it is asked, and all padding is computed and masked.
    """

    def __init__(self, model: Tgat, history: History, dropout: float = 0.0) -> None:
        self.model, self.history, self.dropout = model, history, dropout
        dtype = model.head.out.weight.dtype
        self.node_features = _padded(history.node_features.to(dtype), model.width)
        self.edge_features = _padded(history.edge_features.to(dtype), model.width)
        self.weights = [self._weights(layer) for layer in range(len(model.layers))]

    def __call__(self, query: LinkQuery) -> Tensor:
        depth = len(self.model.layers)
        self.weights = [self._weights(layer) for layer in range(depth)]
        source = self.embed(query.source, query.time, depth)
        destination = self.embed(query.destination, query.time, depth)
        head = self.model.head
        return head.out(torch.relu(head.hidden(torch.cat([source, destination], dim=1)))).squeeze(1)

    def _weights(self, layer: int) -> dict[str, Tensor]:
        """W_Q, W_K, W_V and W_0 with zero columns where the model has left absent features out."""
        width, parts = self.model.width, self.model.layers[layer]
        node = width if layer else self.history.node_features.shape[1]
        edge, raw = self.history.edge_features.shape[1], self.history.node_features.shape[1]
        time = self.model.time_encoder.width
        attention = parts.attention
        return {
            "query": _spread(attention.query.weight, [node, time], [width, time]),
            "key": _spread(attention.key.weight, [node, edge, time], [width, width, time]),
            "value": _spread(attention.value.weight, [node, edge, time], [width, width, time]),
            "hidden": _spread(parts.hidden.weight, [width + time, raw], [width + time, width]),
        }

    def embed(self, node: Tensor, time: Tensor, layer: int) -> Tensor:
        features = self.node_features[node]
        if layer == 0:
            return features
        model, weights, parts = self.model, self.weights[layer - 1], self.model.layers[layer - 1]
        past = self.history.before(node, time, model.neighbours, model.sampling)
        own = self.embed(node, time, layer - 1)
        others = self.embed(past.node.flatten(), past.time.flatten(), layer - 1).view(*past.node.shape, -1)
        others = others * past.valid.unsqueeze(-1)
        edges = self.edge_features[past.event] * past.valid.unsqueeze(-1)
        encoded = model.time_encoder.encode(model.time_encoder.measure(past))
        asked = torch.cat([own, model.time_encoder.now().expand(len(node), -1)], dim=1)
        attended = self.attend(asked, torch.cat([others, edges, encoded], dim=2), past.valid, weights)
        attended = F.dropout(parts.attention.out(attended), self.dropout)
        attended = parts.attention.norm(attended + asked)
        hidden = F.linear(torch.cat([attended, features], dim=1), weights["hidden"], parts.hidden.bias)
        return parts.out(torch.relu(hidden))

    def attend(self, asked: Tensor, past: Tensor, valid: Tensor, weights: dict[str, Tensor]) -> Tensor:
        """Softmax(K q / sqrt(head)) and V, for every head."""
        heads, count = self.model.layers[0].attention.heads, len(asked)
        query = F.linear(asked, weights["query"]).view(count, heads, 1, -1)
        key = F.linear(past, weights["key"]).view(*past.shape[:2], heads, -1).transpose(1, 2)
        value = F.linear(past, weights["value"]).view(*past.shape[:2], heads, -1).transpose(1, 2)
        scores = (query @ key.transpose(2, 3)).squeeze(2) / key.shape[-1] ** 0.5
        scores = scores.masked_fill(~valid.unsqueeze(1), -1e10)
        attention = torch.softmax(scores, dim=2) * valid.any(1)[:, None, None]
        attention = F.dropout(attention, self.dropout)
        return (attention.unsqueeze(2) @ value).flatten(1)


def _padded(features: Tensor, width: int) -> Tensor:
    return F.pad(features, (0, width - features.shape[1]))


def _spread(weight: Tensor, widths: list[int], padded: list[int]) -> Tensor:
    pieces = weight.split(widths, dim=1)
    return torch.cat([_padded(piece, width) for piece, width in zip(pieces, padded, strict=True)], dim=1)
