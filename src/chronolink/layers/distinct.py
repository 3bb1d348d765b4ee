"""Equal questions, asked once"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .linear import FEWEST


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct (node, time), and where each asked one stands among them; a few are filled up with the first."""

    node: Tensor  # [distinct] int64
    time: Tensor  # [distinct] float64
    place: Tensor  # [asked] int64

    @classmethod
    def of(cls, node: Tensor, time: Tensor) -> Distinct:
        moments, moment = torch.unique(time, return_inverse=True)
        count = max(len(moments), 1)
        keys, place = torch.unique(node * count + moment, return_inverse=True)
        if 0 < len(keys) < FEWEST:
            keys = torch.cat([keys, keys[:1].expand(FEWEST - len(keys))])
        return cls(keys // count, moments[keys % count], place)
