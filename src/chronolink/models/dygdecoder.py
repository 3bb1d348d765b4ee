"""DyGDecoder: causal, read from the last row"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..history import History
from ..layers.event_channels import Tokens
from ..layers.packing import Packing
from ..layers.sequences import Sequences
from ..layers.transformer import Rows
from .dygformer_separate import DygformerSeparate as _DygformerSeparate


class Dygdecoder(_DygformerSeparate):
    """DyGDecoder: each sequence alone behind a learnt beginning, causal attention, the last row as the embedding.

    From "Between Linear and Sinusoidal". Of the last layer only the last row is computed.
    """

    def add_parameters(self, inner: int) -> None:
        self.beginning = nn.Parameter(torch.randn(inner) * 0.02)

    def packing(self, sequences: Sequences, count: int) -> Packing:
        """The beginnings are the first rows, and the first column."""
        begun = torch.arange(count, device=sequences.column.device)
        column = torch.cat([torch.zeros_like(begun), sequences.column + 1])
        return Packing.of(torch.cat([begun, sequences.sequence]), column, count)

    def rows(self, sequences: Sequences, history: History, count: int) -> Rows:
        given = super().rows(sequences, history, count)
        key = torch.cat([fold(sequences.key[sequences.column == 0], -1), sequences.key])
        return Rows(self._with_beginning(given.tokens, count), given.packing, key, causal=True)

    def embed(self, given: Rows, sequences: Sequences, count: int) -> Tensor:
        last = count - 1 + torch.bincount(sequences.sequence, minlength=count).cumsum(0)
        rows = given.through(list(self.layers)[:-1])
        return self.layers[-1].last(rows, given.packing, given.key, last)  # type: ignore[no-any-return,operator]

    def _with_beginning(self, tokens: Tokens, count: int) -> Tokens:
        """A learnt row in front, one a sequence: one more number, which is 1 there and 0 elsewhere."""
        first = F.pad(tokens.numbers.new_ones(count, 1), (tokens.numbers.shape[1], 0))
        numbers = torch.cat([first, F.pad(tokens.numbers, (0, 1))])
        return Tokens(numbers, torch.cat([tokens.basis, self.beginning.unsqueeze(0)]))
