"""DyGDecoder: causal, read from the last row"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..layers.event_channels import Tokens
from ..layers.packing import Packing
from ..layers.sequences import Sequences
from .dygformer_separate import DygformerSeparate as _DygformerSeparate


class Dygdecoder(_DygformerSeparate):
    """DyGDecoder: each sequence alone behind a learnt beginning, causal attention, the last row as the embedding.

    From "Between Linear and Sinusoidal". Of the last layer only the last row is computed.
    """

    def add_parameters(self, inner: int) -> None:
        self.beginning = nn.Parameter(torch.randn(inner) * 0.02)

    def embed(self, tokens: Tokens, sequences: Sequences, count: int) -> Tensor:
        tokens = self._with_beginning(tokens, count)
        rows = tokens.rows()
        begun = torch.arange(count, device=rows.device)
        key = torch.cat([fold(sequences.key[sequences.column == 0], -1), sequences.key])
        column = torch.cat([torch.zeros_like(begun), sequences.column + 1])
        packing = Packing.of(torch.cat([begun, sequences.sequence]), column, count)
        last = count - 1 + torch.bincount(sequences.sequence, minlength=count).cumsum(0)
        for number, layer in enumerate(list(self.layers)[:-1]):
            rows = layer(rows, packing, key, causal=True, tokens=None if number else tokens)
        return self.layers[-1].last(rows, packing, key, last)  # type: ignore[no-any-return,operator]

    def _with_beginning(self, tokens: Tokens, count: int) -> Tokens:
        """A learnt row in front, one a sequence: one more number, which is 1 there and 0 elsewhere."""
        first = F.pad(tokens.numbers.new_ones(count, 1), (tokens.numbers.shape[1], 0))
        numbers = torch.cat([first, F.pad(tokens.numbers, (0, 1))])
        return Tokens(numbers, torch.cat([tokens.basis, self.beginning.unsqueeze(0)]))
