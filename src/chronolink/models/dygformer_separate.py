"""DyGFormer without attention between the two"""

from __future__ import annotations

from ..layers.packing import Packing
from ..layers.sequences import Sequences
from ._first_hop import FirstHop


class DygformerSeparate(FirstHop):
    """DyGFormer in which each node's sequence attends to itself alone ("Between Linear and Sinusoidal").

    It rules out the effect of attention from one sequence to the other.
    """

    def packing(self, sequences: Sequences, count: int) -> Packing:
        return Packing.of(sequences.sequence, sequences.column, count)
