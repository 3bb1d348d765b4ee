"""The DyGFormer family in batches padded to the full length, every feature padded to 172"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.models._first_hop import FirstHop
from chronolink.models.dygdecoder import Dygdecoder
from chronolink.models.dygformer import Dygformer
from chronolink.query import LinkQuery

PADDED = 172


class PaddedFirstHop:
    """What a `FirstHop` computes, the usual way: all sequences as long as the longest may be, absent features as
    zeros that are projected, every count through the MLP, every row through every layer, the default dropout.
    """

    def __init__(self, model: FirstHop, history: History, dropout: float = 0.0) -> None:
        self.model, self.history, self.dropout = model, history, dropout
        dtype = model.out.weight.dtype
        self.node_features = F.pad(history.node_features.to(dtype), (0, PADDED - history.node_features.shape[1]))
        self.edge_features = F.pad(history.edge_features.to(dtype), (0, PADDED - history.edge_features.shape[1]))

    def __call__(self, query: LinkQuery) -> Tensor:
        model = self.model
        sides = [(query.source, query.destination), (query.destination, query.source)]
        found = [self._sequence(node, partner, query.time) for node, partner in sides]
        (first, _, _, _), (second, _, _, _) = found
        filled = [part[3] for part in found]
        tokens = [self._tokens(*part, first, second, filled[0], filled[1]) for part in found]
        masks = [part.view(len(query), -1, model.patch).any(2) for part in filled]
        pooled = self._joint(tokens, masks) if isinstance(model, Dygformer) else self._alone(tokens, masks)
        embedding = torch.cat([model.out(part) for part in pooled], dim=1)
        return model.head.out(torch.relu(model.head.hidden(embedding))).squeeze(1)

    def _sequence(self, node: Tensor, partner: Tensor, time: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Nodes, events, encoded times and which are filled, [pairs, slots], from the left."""
        model = self.model
        past = self.history.before(node, time, model.length - 1)
        size = past.valid.sum(1, keepdim=True) + 1
        slots = -(-model.length // model.patch) * model.patch
        slot = torch.arange(slots).expand(len(node), slots)
        place = (slot + model.length - size).clamp(max=model.length - 1)
        now = model.time_encoder.number(torch.zeros_like(time)).unsqueeze(1)
        number = torch.cat([model.time_encoder.measure(past), now], 1)
        nodes = torch.cat([past.node, partner[:, None]], 1).gather(1, place)
        events = torch.cat([past.event, torch.zeros_like(partner)[:, None]], 1).gather(1, place)
        events = events.masked_fill(slot >= size - 1, -1)
        return nodes, events, model.time_encoder.encode(number.gather(1, place)), slot < size

    def _tokens(
        self,
        nodes: Tensor,
        events: Tensor,
        times: Tensor,
        filled: Tensor,
        first: Tensor,
        second: Tensor,
        first_filled: Tensor,
        second_filled: Tensor,
    ) -> Tensor:
        channels, mask = self.model.channels, filled.unsqueeze(-1)
        counts = [
            ((nodes[:, :, None] == other[:, None, :]) & there[:, None, :]).sum(2)
            for other, there in ((first, first_filled), (second, second_filled))
        ]
        occurrence = sum(channels.count(count.unsqueeze(-1).to(times.dtype)) for count in counts)
        edges = self.edge_features[events.clamp(min=0)] * (events >= 0).unsqueeze(-1)
        parts = [
            (_padded(channels.node, self.model.patch), self.node_features[nodes] * mask, channels.node.bias),
            (_padded(channels.edge, self.model.patch), edges, channels.edge.bias),
            (channels.time.weight, times * mask, channels.time.bias),
            (channels.occurrence.weight, occurrence * mask, channels.occurrence.bias),
        ]
        pairs, patch = len(nodes), self.model.patch
        return torch.cat(
            [F.linear(part.reshape(pairs, -1, patch * part.shape[2]), weight, bias) for weight, part, bias in parts], 2
        )

    def _joint(self, tokens: list[Tensor], masks: list[Tensor]) -> list[Tensor]:
        rows = self._layers(torch.cat(tokens, 1), torch.cat(masks, 1), causal=False)
        return [_mean(part, mask) for part, mask in zip(rows.chunk(2, 1), masks, strict=True)]

    def _alone(self, tokens: list[Tensor], masks: list[Tensor]) -> list[Tensor]:
        pooled = []
        for part, mask in zip(tokens, masks, strict=True):
            if isinstance(self.model, Dygdecoder):
                begun = torch.cat([self.model.beginning.expand(len(part), 1, -1), part], 1)
                there = torch.cat([mask.new_ones(len(mask), 1), mask], 1)
                rows = self._layers(begun, there, causal=True)
                pooled.append(rows[torch.arange(len(rows)), there.sum(1) - 1])
            else:
                pooled.append(_mean(self._layers(part, mask, causal=False), mask))
        return pooled

    def _layers(self, rows: Tensor, mask: Tensor, causal: bool) -> Tensor:
        length = rows.shape[1]
        seen = mask[:, None, None, :] & (torch.ones(length, length, dtype=torch.bool).tril() if causal else True)
        for layer in self.model.layers:
            parts = layer.query_key_value(layer.attention_norm(rows)).chunk(3, dim=2)
            query, key, value = (part.unflatten(2, (layer.heads, -1)).transpose(1, 2) for part in parts)
            scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
            attention = F.dropout(torch.softmax(scores.masked_fill(~seen, -1e30), dim=-1), self.dropout)
            mixed = layer.mix((attention @ value).transpose(1, 2).flatten(2))
            rows = rows + F.dropout(mixed, self.dropout)
            wide = F.dropout(F.gelu(layer.wide(layer.norm(rows))), self.dropout)
            rows = rows + F.dropout(layer.narrow(wide), self.dropout)
        return rows


def _padded(layer: torch.nn.Linear, patch: int) -> Tensor:
    weight = layer.weight.view(len(layer.weight), patch, -1)
    return F.pad(weight, (0, PADDED - weight.shape[2])).flatten(1)


def _mean(rows: Tensor, mask: Tensor) -> Tensor:
    return (rows * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
