"""An embedding to a state's logit"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .dropout import Dropout


class StateHead(nn.Module):
    """logit = w_2 . d(ReLU(W_1 d(ReLU(W_0 h + b_0)) + b_1)) + b_2, by way of 80 and 10 numbers, as DyGLib has it
    (Yu et al. 2023); d leaves out a share of the entries in a training step.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(width, 80)
        self.second = nn.Linear(80, 10)
        self.out = nn.Linear(10, 1)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(2))

    def forward(self, embedding: Tensor, key: Tensor) -> Tensor:
        """embedding [rows, width] with key [rows] int64, to which a row's dropout belongs: logits [rows]."""
        hidden = self.dropouts[0](torch.relu(self.first(embedding)), key)
        hidden = self.dropouts[1](torch.relu(self.second(hidden)), key)
        return self.out(hidden).squeeze(1)  # type: ignore[no-any-return]
