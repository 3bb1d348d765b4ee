"""TGN the usual way: every node updated, every neighbour projected"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.models.tgn import Tgn
from chronolink.query import LinkQuery


class PaddedTgn:
    """The function that a `Tgn` of one layer must equal, in batches, with that model's own weights and memory.

    The events of all nodes that have one waiting are taken in for every batch, features are padded with zeros to
    `width`, every neighbour is encoded and projected to a key and a value, and every question is embedded anew.
    """

    def __init__(self, model: Tgn, history: History, dropout: float = 0.0) -> None:
        self.model, self.history, self.dropout = model, history, dropout
        dtype = model.head.out.weight.dtype
        self.node_features = _padded(history.node_features.to(dtype), model.width)
        self.edge_features = _padded(history.edge_features.to(dtype), model.width)

    def __call__(self, query: LinkQuery) -> Tensor:
        updated, head = self._updated(), self.model.head
        source, destination = (self.embed(node, query.time, updated) for node in (query.source, query.destination))
        return head.out(torch.relu(head.hidden(torch.cat([source, destination], dim=1)))).squeeze(1)

    def _updated(self) -> Tensor:
        """The memory of all nodes, each as if its event were taken in."""
        model, cell = self.model, self.model.cell
        waiting = model.memory.waiting(torch.arange(len(model.memory.state)))
        number = model.time_encoder.measure(waiting.past).nan_to_num(0.0, 0.0, 0.0)
        edge, encoded = self.edge_features[waiting.event], model.time_encoder.encode(number).squeeze(1)
        message = torch.cat([waiting.own, waiting.other, edge, encoded], dim=1)
        weight = self._spread(cell.weight_ih, 2 * model.width)
        return torch.gru_cell(message, waiting.own, weight, cell.weight_hh, cell.bias_ih, cell.bias_hh)

    def _recall(self, node: Tensor, time: Tensor, updated: Tensor) -> Tensor:
        seen = self.model.memory.waits(node, time).unsqueeze(-1)
        return torch.where(seen, updated[node], self.model.memory.state[node]) + self.node_features[node]

    def embed(self, node: Tensor, time: Tensor, updated: Tensor) -> Tensor:
        model, (layer,) = self.model, self.model.layers
        past = self.history.before(node, time, model.neighbours, model.sampling)
        own, others = self._recall(node, time, updated), self._recall(past.node, time.unsqueeze(1), updated)
        encoded = model.time_encoder.encode(model.time_encoder.measure(past))
        asked = torch.cat([own, model.time_encoder.now().expand(len(node), -1)], dim=1)
        attended = self._attend(asked, torch.cat([others, self.edge_features[past.event], encoded], dim=2), past.valid)
        attended = layer.attention.norm(F.dropout(layer.attention.out(attended), self.dropout) + asked)
        return layer.out(torch.relu(layer.hidden(torch.cat([attended, own], dim=1))))

    def _attend(self, asked: Tensor, past: Tensor, valid: Tensor) -> Tensor:
        attention, width = self.model.layers[0].attention, self.model.width
        shape = (*past.shape[:2], attention.heads, -1)
        query = attention.query(asked).view(len(asked), attention.heads, 1, -1)
        key = F.linear(past, self._spread(attention.key.weight, width)).view(shape).transpose(1, 2)
        value = F.linear(past, self._spread(attention.value.weight, width)).view(shape).transpose(1, 2)
        scores = (query @ key.transpose(2, 3)).squeeze(2) / key.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~valid.unsqueeze(1), -1e10), dim=2) * valid.any(1)[:, None, None]
        return (F.dropout(weights, self.dropout).unsqueeze(2) @ value).flatten(1)

    def _spread(self, weight: Tensor, before: int) -> Tensor:
        """Zero columns where the model has left absent edge features out, behind so many columns."""
        edge = self.history.edge_features.shape[1]
        first, features, rest = weight.split([before, edge, weight.shape[1] - before - edge], dim=1)
        return torch.cat([first, _padded(features, self.model.width), rest], dim=1)


def _padded(features: Tensor, width: int) -> Tensor:
    return F.pad(features, (0, width - features.shape[1]))
