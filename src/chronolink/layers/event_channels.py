"""Four channels of an event, side by side"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..time_encoder import TimeEncoder
from .linear import linear
from .sequences import Sequences
from .unrounded import unrounded

PADDED = 172  # the width that the benchmark pads features to, and starts its weights by


@dataclass(frozen=True, slots=True)
class Tokens:
    """The few numbers that the rows are made of."""

    numbers: Tensor  # [patches, fewer]
    basis: Tensor  # [fewer, inner]

    def rows(self) -> Tensor:
        """[patches, inner]"""
        return unrounded(torch.mm)(self.numbers, self.basis)


class EventChannels(nn.Module):
    """[f_1(nodes), f_2(edges), f_3(times), f_4(co-occurrence)] of a patch, each f linear.

    The node and edge channel of absent features is its bias. An affine time encoding is never built: f_3 is applied to
    the number itself. Counts are few, so f_4 of the count's MLP is a table with a row a count and slot.
    """

    def __init__(
        self, node_width: int, edge_width: int, encoder: TimeEncoder, patch: int, channel: int, time_channel: int
    ) -> None:
        super().__init__()
        self.patch, self.encoder, self.channel = patch, [encoder], channel  # in a list: it belongs to the model
        self.node = linear(patch * node_width, channel, patch * PADDED)
        self.edge = linear(patch * edge_width, channel, patch * PADDED)
        self.time = nn.Linear(patch * encoder.width, time_channel)
        self.count = nn.Sequential(nn.Linear(1, channel), nn.ReLU(), nn.Linear(channel, channel))
        self.occurrence = nn.Linear(patch * channel, channel)

    def forward(self, events: Sequences, node_features: Tensor, edge_features: Tensor) -> Tokens:
        parts = [
            _narrow(_rows(node_features, events.node, events.filled, self.node), self.node.weight),
            _narrow(_rows(edge_features, events.event, events.past, self.edge), self.edge.weight),
            _narrow(*self._time(events)),
            _narrow(self._occurrence(events), None),
        ]
        bias = torch.cat([layer.bias for layer in (self.node, self.edge, self.time, self.occurrence)])
        one = parts[-1][0].new_ones(len(events.sequence), 1)
        numbers = torch.cat([*(numbers for numbers, _ in parts), one], dim=1)
        basis = torch.block_diag(*(basis for _, basis in parts))
        return Tokens(numbers, torch.cat([basis, bias.unsqueeze(0)]))

    def _time(self, events: Sequences) -> tuple[Tensor, Tensor]:
        """What f_3's weights are applied to, and those weights; of an affine encoding, the number and one."""
        encoder = self.encoder[0]
        numbers, lines = encoder.factors(events.number)
        weight = self.time.weight.view(-1, self.patch, encoder.width)
        weight = weight if lines is None else weight @ lines
        return (numbers * events.filled.unsqueeze(-1)).flatten(1), weight.flatten(1)

    def _occurrence(self, events: Sequences) -> Tensor:
        most = int(torch.maximum(events.own.max(), events.other.max()))
        counts = torch.arange(most + 1, dtype=self.occurrence.weight.dtype, device=events.own.device)
        weight = self.occurrence.weight.view(self.channel, self.patch, -1).permute(1, 2, 0)
        table = (self.count(counts.unsqueeze(1)) @ weight).flatten(0, 1)  # [patch * counts, channel]
        table = torch.cat([table, table.new_zeros(1, self.channel)])
        slot = torch.arange(self.patch, device=counts.device) * (most + 1)
        rows = torch.cat([slot + events.own, slot + events.other], dim=1)
        rows = rows.masked_fill(~events.filled.repeat(1, 2), len(table) - 1)
        return F.embedding_bag(rows, table, mode="sum")


def _rows(features: Tensor, row: Tensor, filled: Tensor, layer: nn.Linear) -> Tensor:
    if features.shape[1] == 0:
        return layer.weight.new_empty(len(row), 0)
    return (features[row] * filled.unsqueeze(-1)).flatten(1).to(layer.weight.dtype)


def _narrow(features: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """A channel as (numbers, basis), by whichever is narrower: the features or the channel itself."""
    if weight is not None and features.shape[1] <= len(weight):
        return features, weight.T
    value = features if weight is None else features @ weight.T
    return value, torch.eye(value.shape[1], dtype=value.dtype, device=value.device)
