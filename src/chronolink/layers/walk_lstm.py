"""A two-way LSTM read at the end"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .gates import step
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

    def forward(self, ahead: Tensor, back: Tensor, tree: Tree, ends: Tensor) -> tuple[Tensor, Tensor]:
        """`ahead` [rows, 4 hidden], `back` [ends, 3 hidden]: W x + b of all rows and of those where walks end.

        Both directions at the end of every walk, [ends, hidden] each.
        """
        roots, *hops = ahead.split(tree.sizes)
        enter, _, new, leave = roots.chunk(4, dim=1)
        cell, state = step(torch.cat([enter, new, leave], dim=1), None)
        states = [state]
        for gates, parent in zip(hops, tree.parent.split(tree.sizes)[1:], strict=True):
            cell, state = step(gates + F.embedding(parent, self.recurrent(state)), F.embedding(parent, cell))
            states.append(state)
        return torch.cat(states).index_select(0, ends), step(back, None)[1]
