"""Two embeddings to one logit"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .linear import FEWEST


class LinkHead(nn.Module):
    """logit = W_1 ReLU(W_0 [source, destination] + b_0) + b_1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, source: Tensor, destination: Tensor) -> Tensor:
        both = torch.cat([source, destination], dim=-1)
        filled = F.pad(both, (0, 0, 0, max(0, FEWEST - len(both))))
        hidden = torch.relu(self.hidden(filled))[: len(both)]
        # one product with one column would give a row other bits in another batch
        return (hidden * self.out.weight).sum(-1) + self.out.bias
