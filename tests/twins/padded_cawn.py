"""CAWN the usual way: batched, padded to the full width, every walk computed anew"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.layers.walk_lstm import WalkLstm
from chronolink.layers.walks import draw_walks
from chronolink.models.cawn import Cawn
from chronolink.query import LinkQuery


class PaddedCawn:
    """The function that a `Cawn` must equal, with that model's own weights.

    Features are padded with zeros to `width`, nodes are counted by comparing all pairs, every time is encoded, every
    step of every walk goes through torch's own bidirectional LSTM, and every walk is projected, equal or not.
    """

    def __init__(self, model: Cawn, history: History, dropout: float = 0.0) -> None:
        self.model, self.history, self.dropout = model, history, dropout
        dtype = model.out.weight.dtype
        self.features = [
            F.pad(features.to(dtype), (0, model.width - features.shape[1]))
            for features in (history.node_features, history.edge_features)
        ]

    def __call__(self, query: LinkQuery) -> Tensor:
        nodes, events, numbers, size = self._walks(query)
        there = torch.arange(nodes.shape[2]) < size.unsqueeze(2)
        first, second = (nodes[: len(query)], there[: len(query)]), (nodes[len(query) :], there[len(query) :])
        counts = [_counts(nodes, *(torch.cat([part, part]) for part in side)) for side in (first, second)]
        identity = sum(self._identity(count) for count in counts)
        edges = self.features[1][events] * (torch.arange(nodes.shape[2]) > 0).unsqueeze(1)
        encoded = self.model.time_encoder.encode(numbers)
        steps = torch.cat([self.features[0][nodes], edges, encoded, identity], dim=3)
        joined = torch.cat([self._lstm(steps, size, 0), self._lstm(identity, size, 1)], dim=2)
        embedding = self.model.out(self._attend(self.model.join(joined)).mean(1))
        head = self.model.head
        both = torch.cat(embedding.chunk(2), dim=1)
        return head.out(torch.relu(head.hidden(both))).squeeze(1)

    def _walks(self, query: LinkQuery) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Nodes, events, numbers [ends, walks, steps] from the root on, and how many steps each walk has."""
        model, node, time = self.model, torch.cat([query.source, query.destination]), query.time.repeat(2)
        walks = draw_walks(self.history, node, time, model.neighbours, model.length, model.sampling)
        root = node.view(-1, 1, 1).expand(-1, model.neighbours, 1)
        now = model.time_encoder.number(torch.zeros_like(time)).view(-1, 1, 1).expand(root.shape)
        number = torch.cat([now, model.time_encoder.measure(walks).flip(2)], dim=2)
        nodes = torch.cat([root, walks.node.flip(2)], dim=2)
        events = torch.cat([torch.zeros_like(root), walks.event.flip(2)], dim=2)
        return nodes, events, number, walks.valid.sum(2) + 1

    def _identity(self, counts: Tensor) -> Tensor:
        part = self.model.identity
        return part.out(torch.relu(part.hidden(counts.to(part.out.weight.dtype) / self.model.neighbours)))

    def _lstm(self, steps: Tensor, size: Tensor, which: int) -> Tensor:
        lstm = (self.model.of_steps, self.model.of_identities)[which]
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            steps.flatten(0, 1), size.flatten(), batch_first=True, enforce_sorted=False
        )
        weights = self._weights(lstm, which == 0)
        start = steps.new_zeros(2, size.numel(), lstm.recurrent.in_features)
        found = torch.lstm(packed.data, packed.batch_sizes, (start, start), weights, True, 1, 0.0, True, True)[0]
        packed = torch.nn.utils.rnn.PackedSequence(found, *packed[1:])
        padded, length = torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        return padded[torch.arange(len(padded)), length - 1].view(*size.shape, -1)

    def _weights(self, lstm: WalkLstm, features: bool) -> list[Tensor]:
        """In torch's order: the other direction's U and f, which are never read, are zero."""
        hidden = lstm.recurrent.in_features
        ahead, back = (self._spread(part.weight) if features else part.weight for part in (lstm.ahead, lstm.back))
        zero = ahead.new_zeros(4 * hidden)
        back = torch.cat([back[:hidden], back.new_zeros(hidden, back.shape[1]), back[hidden:]])
        bias = torch.cat([lstm.back.bias[:hidden], zero[:hidden], lstm.back.bias[hidden:]])
        recurrent = lstm.recurrent.weight
        return [ahead, recurrent, lstm.ahead.bias, zero, back, torch.zeros_like(recurrent), bias, zero]

    def _spread(self, weight: Tensor) -> Tensor:
        """Zero columns where the model has left absent features out."""
        width, history = self.model.width, self.history
        widths = [history.node_features.shape[1], history.edge_features.shape[1]]
        *parts, rest = weight.split([*widths, weight.shape[1] - sum(widths)], dim=1)
        return torch.cat([*(F.pad(part, (0, width - part.shape[1])) for part in parts), rest], dim=1)

    def _attend(self, rows: Tensor) -> Tensor:
        """A transformer layer over [ends, walks, inner]."""
        part = self.model.attention
        heads = (part.heads, -1)
        query, key, value = (
            one.unflatten(2, heads).transpose(1, 2) for one in part.query_key_value(rows).chunk(3, dim=2)
        )
        attention = torch.softmax(query @ key.transpose(2, 3) / query.shape[3] ** 0.5, dim=3)
        mixed = part.mix((F.dropout(attention, self.dropout) @ value).transpose(1, 2).flatten(2))
        rows = part.attention_norm(rows + F.dropout(mixed, self.dropout))
        wide = F.dropout(torch.relu(part.wide(rows)), self.dropout)
        return part.norm(rows + F.dropout(part.narrow(wide), self.dropout))


def _counts(nodes: Tensor, others: Tensor, there: Tensor) -> Tensor:
    """[ends, walks, steps, positions]: how often each node stands at each position of the other walks."""
    equal = nodes[:, :, :, None, None] == others[:, None, None]
    return (equal & there[:, None, None]).sum(3)
