"""Attention of memories over past events"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import ChronolinkError
from ..history import History, Neighbours
from ..time_encoder import TimeEncoder
from .temporal_attention import TemporalAttention


class MemoryAttention(nn.Module):
    """W_1 ReLU(W_0 [attention(h_i, {h_j, e_j, phi(t - t_j)}), h^0_i] + b_0) + b_1, all h of one width.

    Absent edge features have no columns; the encoder is the model's own.
    """

    def __init__(self, edge_width: int, time_width: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        if (width + time_width) % heads:
            raise ChronolinkError(
                f"width {width} + time width {time_width} cannot be shared by {heads} heads; change one of them"
            )
        self.attention = TemporalAttention(
            width=width + time_width,
            inputs=width + time_width,
            channels=width + edge_width + time_width,
            fan_in=2 * width + time_width,
            heads=heads,
            dropout=dropout,
        )
        self.hidden = nn.Linear(2 * width + time_width, width)
        self.out = nn.Linear(width, width)

    def forward(
        self,
        own: Tensor,
        first: Tensor,
        others: Tensor,
        past: Neighbours,
        history: History,
        encoder: TimeEncoder,
        key: Tensor,
    ) -> Tensor:
        """own, first [nodes, width] and others [nodes, k, width]; `key` [nodes] decides the dropout."""
        time = encoder.factors(encoder.measure(past))
        channels = [(others, None), (history.edge_features[past.event], None), time]
        present = [channel for channel in channels if channel[0].shape[-1]]
        asked = torch.cat([own, encoder.now().expand(len(own), -1)], dim=-1)
        attended = self.attention(asked, asked, present, past.valid, key)
        hidden = torch.relu(self.hidden(torch.cat([attended, first], dim=-1)))
        return self.out(hidden)  # type: ignore[no-any-return]
