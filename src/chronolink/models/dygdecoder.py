"""DyGDecoder: causal, read from the last row"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..draws import fold
from ..layers.packing import Packing
from ..layers.sequences import Sequences
from ..model import GraphShape
from ..time_encoder import TimeEncoder
from .dygformer_separate import DygformerSeparate as _DygformerSeparate


class Dygdecoder(_DygformerSeparate):
    """Each node's sequence alone, with a learnt beginning in front, causal attention, and the last row as the
    embedding ("Between Linear and Sinusoidal"). Of the last layer only that row is computed.
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
        super().__init__(graph, time_encoder, length, patch, channel, time_channel, layers, heads, width, dropout)
        self.beginning = nn.Parameter(torch.randn(self.out.in_features) * 0.02)

    def embed(self, rows: Tensor, sequences: Sequences, count: int) -> Tensor:
        begun = torch.arange(count, device=rows.device)
        rows = torch.cat([self.beginning.expand(count, -1), rows])
        key = torch.cat([fold(sequences.key[sequences.column == 0], -1), sequences.key])
        column = torch.cat([torch.zeros_like(begun), sequences.column + 1])
        packing = Packing.of(torch.cat([begun, sequences.sequence]), column, count)
        last = count - 1 + torch.bincount(sequences.sequence, minlength=count).cumsum(0)
        for layer in list(self.layers)[:-1]:
            rows = layer(rows, packing, key, causal=True)
        return self.layers[-1].last(rows, packing, key, last)  # type: ignore[no-any-return,operator]
