"""A two-way LSTM read at the end"""

from __future__ import annotations

from typing import Any

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
        roots, *hops = ahead.split(tree.sizes)
        enter, _, new, leave = roots.chunk(4, dim=1)
        cell, state = step(torch.cat([enter, new, leave], dim=1), None)
        states = [state]
        for gates, parent in zip(hops, tree.parent.split(tree.sizes)[1:], strict=True):
            gates = F.embedding(parent, self.recurrent(state)).add_(gates)
            cell, state = step(gates, F.embedding(parent, cell))
            states.append(state)
        return torch.cat([torch.cat(states).index_select(0, ends), step(back, None)[1]], dim=1)


def step(gates: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
    """c_l and h_l, [rows, hidden] each, of the gates [rows, 4 hidden] and c_{l-1}; the first step has none, and no f.

    Gates are opened within one buffer, and so are their gradients: half the passes of one function after the other.
    """
    found: tuple[Tensor, Tensor] = _Step.apply(gates, before)  # type: ignore[no-untyped-call]
    return found


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        opened = torch.empty_like(gates)
        enter, keep, new, leave = _parts(opened, before)
        for given, part in zip(_parts(gates, before), (enter, keep, new, leave), strict=True):
            (torch.tanh if part is new else torch.sigmoid)(given, out=part)
        cell = enter * new if before is None else torch.mul(keep, before).addcmul_(enter, new)
        shown = torch.tanh(cell)
        ctx.save_for_backward(opened, shown, before)
        return cell, leave * shown

    @staticmethod
    def backward(ctx: Any, of_cell: Tensor, of_state: Tensor) -> tuple[Tensor, Tensor | None]:
        opened, shown, before = ctx.saved_tensors
        gradient = torch.empty_like(opened)
        enter, keep, new, leave = _parts(opened, before)
        of_enter, of_keep, of_new, of_leave = _parts(gradient, before)
        _sigmoid_backward(of_state * shown, leave, grad_input=of_leave)
        of_cell = _tanh_backward(of_state * leave, shown).add_(of_cell)
        _sigmoid_backward(of_cell * new, enter, grad_input=of_enter)
        _tanh_backward(of_cell * enter, new, grad_input=of_new)
        if before is None:
            return gradient, None
        _sigmoid_backward(of_cell * before, keep, grad_input=of_keep)
        return gradient, of_cell.mul_(keep)


_sigmoid_backward, _tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


def _parts(gates: Tensor, before: Tensor | None) -> list[Tensor]:
    """i, f, g and o, [rows, hidden] each; of the first step f is [rows, 0]."""
    hidden = gates.shape[1] // 3 if before is None else before.shape[1]
    return list(gates.split([hidden, 0 if before is None else hidden, hidden, hidden], dim=1))
