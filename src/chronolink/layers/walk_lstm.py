"""A two-way LSTM read at the end"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .gates import Before, step
from .linear import linear
from .prefixes import Tree
from .product import mapped, product
from .unrounded import unrounded


@dataclass(frozen=True, slots=True)
class Steps:
    """What the LSTM is given at each row, [known basis^T, table[name]]; of the table few rows are multiplied."""

    known: Tensor  # [rows, few]
    basis: Tensor | None  # [inputs, few], where the known inputs are fewer numbers than they seem
    name: Tensor  # [rows] int64
    table: Tensor  # [names, width]


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

    def forward(self, steps: Steps, tree: Tree, ends: Tensor) -> tuple[Tensor, Tensor]:
        """Both directions at the end of every walk, [ends, hidden] each."""
        hidden = self.recurrent.in_features
        for_known, named = _parts(self.ahead, steps)
        sizes = list(tree.sizes)
        known, name, parent = (column.split(sizes) for column in (steps.known, steps.name, tree.parent))
        # the root keeps nothing
        first, called = (torch.cat([part[:, :hidden], part[:, 2 * hidden :]], dim=1) for part in (for_known, named))
        cell, state = step(_times(known[0], first), called, name[0], None)
        states = [state]
        for hop in range(1, len(sizes)):
            before = Before(parent[hop], mapped(self.recurrent, state), cell)
            cell, state = step(_times(known[hop], for_known), named, name[hop], before)
            states.append(state)
        for_known, named = _parts(self.back, steps)
        back = step(_times(steps.known[ends], for_known), named, steps.name[ends], None)[1]
        return torch.cat(states).index_select(0, ends), back


def _parts(layer: nn.Linear, steps: Steps) -> tuple[Tensor, Tensor]:
    """W^T for what is known, [few, gates], and W I + b for every row of the table, [names, gates]."""
    width = steps.table.shape[1]
    for_known, for_name = layer.weight.split([layer.in_features - width, width], dim=1)
    if steps.basis is not None:
        for_known = for_known @ steps.basis
    # laid out anew: the gradient of a few columns is then `known.T @ g`, seven times faster than `(g.T @ known).T`
    return for_known.T.contiguous(), product(steps.table, for_name, layer.bias)


_times = unrounded(torch.mm)
