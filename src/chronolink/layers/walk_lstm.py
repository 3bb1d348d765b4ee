"""A two-way LSTM read at the end"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .linear import linear
from .prefixes import Tree


class WalkLstm(nn.Module):
    """What a bidirectional LSTM gives at the last step of every walk.

        i, f, g, o = W x_l + U h_{l-1} + b
        c_l = sigma(f) c_{l-1} + sigma(i) tanh(g)        h_l = sigma(o) tanh(c_l)

    At its last step the other direction has only begun: it is one step from nothing, without U and f. The forward
    direction runs once over each distinct beginning of walks, and U is applied to parents, not to children.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.ahead = linear(inputs, 4 * hidden, hidden)
        self.recurrent = linear(hidden, 4 * hidden, hidden, bias=False)
        self.back = linear(inputs, 3 * hidden, hidden)

    def forward(self, ahead: Tensor, back: Tensor, tree: Tree, ends: Tensor) -> Tensor:
        """`ahead` [rows, 4 hidden], `back` [ends, 3 hidden]: W x + b of all rows and of those where walks end."""
        parents = tree.parent.split(tree.sizes)
        cell, state = _begun(*_without_forget(ahead[: tree.sizes[0]]))
        states = [state]
        for gates, parent in zip(ahead.split(tree.sizes)[1:], parents[1:], strict=True):
            gates = gates + F.embedding(parent, self.recurrent(state))
            cell, state = _step(gates, F.embedding(parent, cell))
            states.append(state)
        return torch.cat([torch.cat(states).index_select(0, ends), _begun(*back.chunk(3, dim=1))[1]], dim=1)


def _without_forget(gates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    enter, _, new, leave = gates.chunk(4, dim=1)
    return enter, new, leave


def _begun(enter: Tensor, new: Tensor, leave: Tensor) -> tuple[Tensor, Tensor]:
    """Cell and state after the first step."""
    cell = torch.sigmoid(enter) * torch.tanh(new)
    return cell, torch.sigmoid(leave) * torch.tanh(cell)


def _step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    enter, keep, new, leave = gates.chunk(4, dim=1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return cell, torch.sigmoid(leave) * torch.tanh(cell)
