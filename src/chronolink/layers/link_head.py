"""Two embeddings to one logit"""

import torch
from torch import Tensor, nn


class LinkHead(nn.Module):
    """logit = W_1 ReLU(W_0 [source, destination] + b_0) + b_1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, source: Tensor, destination: Tensor) -> Tensor:
        hidden = torch.relu(self.hidden(torch.cat([source, destination], dim=-1)))
        return self.out(hidden).squeeze(-1)  # type: ignore[no-any-return]
