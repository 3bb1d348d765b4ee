"""DyGFormer: one transformer over both histories"""

from __future__ import annotations

import torch

from ..layers.packing import Packing
from ..layers.sequences import Sequences
from ._first_hop import FirstHop


class Dygformer(FirstHop):
    """DyGFormer (Yu et al. 2023): both nodes' sequences in one attention, the mean over each node's own rows.

    "Towards better dynamic graph learning: new architecture and unified library".
    """

    def packing(self, sequences: Sequences, count: int) -> Packing:
        pairs = count // 2
        size = torch.bincount(sequences.sequence, minlength=count)
        before = torch.cat([torch.zeros_like(size[:pairs]), size[:pairs]])  # the source's rows come first
        return Packing.of(sequences.sequence % pairs, sequences.column + before[sequences.sequence], pairs)
