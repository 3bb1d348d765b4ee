"""One query a node, over its past"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .dropout import Dropout
from .linear import linear
from .unrounded import unrounded


class TemporalAttention(nn.Module):
    """Multi-head attention of a node over its past events, with residual and layer norm.

        q = W_Q [h, phi(0)]        z_j = [h_j, e_j, phi(dt_j)]        a = softmax_j(q . W_K z_j / sqrt(head))
        out = LayerNorm(W_O [sum_j a_j W_V z_j] + b_O + [h, phi(0)])

    No past event is ever projected: q . (W_K z_j) = (W_K^T q) . z_j, and W_O W_V is applied once to sum_j a_j z_j.
    z_j comes in channels (node, edge, time), each [nodes, past, width]; an absent channel has no columns anywhere. A
    node without a past attends to nothing: its sum is zero.
    """

    def __init__(self, width: int, inputs: int, channels: int, fan_in: int, heads: int, dropout: float) -> None:
        """`width`: of q and of the output; `inputs`: of [h, phi(0)]; `channels`: of z; `fan_in`: of padded z."""
        super().__init__()
        self.heads = heads
        self.query = linear(inputs, width, width, bias=False)
        self.key = linear(channels, width, fan_in, bias=False)
        self.value = linear(channels, width, fan_in, bias=False)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.attention_dropout = Dropout(dropout)
        self.output_dropout = Dropout(dropout)

    def forward(
        self, asked: Tensor, residual: Tensor, past: list[tuple[Tensor, Tensor | None]], valid: Tensor, key: Tensor
    ) -> Tensor:
        """`asked` [nodes or 1, inputs]; `past`: (channel, basis), where channel @ basis^T is what z holds."""
        widths = [channel.shape[-1] if basis is None else len(basis) for channel, basis in past]
        query = self.query(asked).view(len(asked), self.heads, -1)
        keys = self._heads(self.key.weight).split(widths, dim=-1)
        values = self._heads(self.value.weight).split(widths, dim=-1)
        scores = [_score(query, part, *channel) for part, channel in zip(keys, past, strict=True)]
        attention = self._softmax(sum(scores[1:], scores[0]), valid, key)
        out = self.out.weight.view(len(self.out.weight), self.heads, -1).permute(1, 2, 0)
        mixed = sum(_mix(attention, part, out, *channel) for part, channel in zip(values, past, strict=True))
        return self.norm(self.output_dropout(mixed + self.out.bias, key) + residual)  # type: ignore[no-any-return]

    def _heads(self, weight: Tensor) -> Tensor:
        return weight.view(self.heads, -1, weight.shape[-1])

    def _softmax(self, scores: Tensor, valid: Tensor, key: Tensor) -> Tensor:
        """[nodes, heads, past], zero where nothing is valid."""
        scores = scores * (len(self.query.weight) // self.heads) ** -0.5
        scores = scores.masked_fill(~valid.unsqueeze(1), torch.finfo(scores.dtype).min)
        attention = torch.softmax(scores, dim=-1) * valid.unsqueeze(1)
        return self.attention_dropout(attention, key)  # type: ignore[no-any-return]


def _score(query: Tensor, weight: Tensor, channel: Tensor, basis: Tensor | None) -> Tensor:
    """(W_K^T q) . z_j, [nodes, heads, past]."""
    if basis is not None:
        return unrounded(_score)(query, weight @ basis, channel, None)
    asked = torch.einsum("nhd,hdc->nhc", query, weight)
    if len(asked) == 1:
        return (channel @ asked[0].T).transpose(1, 2)
    return torch.bmm(asked, channel.transpose(1, 2))


def _mix(attention: Tensor, weight: Tensor, out: Tensor, channel: Tensor, basis: Tensor | None) -> Tensor:
    """W_O W_V sum_j a_j z_j, [nodes, width]."""
    if basis is not None:
        return unrounded(_mix)(attention, weight @ basis, out, channel, None)
    mixed = torch.bmm(attention, channel).flatten(1)
    return mixed @ torch.bmm(weight.transpose(1, 2), out).flatten(0, 1)
