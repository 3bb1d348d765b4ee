"""A step of an LSTM, its gates in one buffer"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from .compiled import compiled, compiles, over_rows
from .exponential import sigmoid, tanh

_ONE = np.float32(1)


def step(gates: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
    """c_l and h_l, [rows, hidden] each, of the gates [rows, 4 hidden] and c_{l-1}; the first step has none, and no f.

    The gradients of the gates are written into one buffer, too. On a CPU a row's gates stay in the cache.
    """
    found: tuple[Tensor, Tensor] = _Step.apply(gates, before)  # type: ignore[no-untyped-call]
    return found


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden = gates.shape[1] // 3 if before is None else before.shape[1]
        opened, (cell, shown, state) = torch.empty_like(gates), gates.new_empty(3, len(gates), hidden).unbind()
        if compiles(gates) and len(gates):
            over_rows(_open, gates, cell if before is None else before, opened, cell, shown, state)
        else:
            _opened(gates, before, opened, cell, shown, state)
        ctx.save_for_backward(opened, shown, before)
        return cell, state

    @staticmethod
    def backward(ctx: Any, of_cell: Tensor, of_state: Tensor) -> tuple[Tensor, Tensor | None]:
        opened, shown, before = ctx.saved_tensors
        gradient, of_before = torch.empty_like(opened), torch.empty_like(shown)
        if compiles(opened) and len(opened):
            given = (opened, shown, shown if before is None else before, of_cell, of_state)
            over_rows(_slope, *given, gradient, of_before)
        else:
            _sloped(opened, shown, before, of_cell, of_state, gradient, of_before)
        return gradient, None if before is None else of_before


def _opened(gates: Tensor, before: Tensor | None, opened: Tensor, cell: Tensor, shown: Tensor, state: Tensor) -> None:
    enter, keep, new, leave = _parts(opened, before)
    for given, part in zip(_parts(gates, before), (enter, keep, new, leave), strict=True):
        (torch.tanh if part is new else torch.sigmoid)(given, out=part)
    torch.mul(enter, new, out=cell)
    if before is not None:
        cell.addcmul_(keep, before)
    torch.mul(leave, torch.tanh(cell, out=shown), out=state)


def _sloped(
    opened: Tensor,
    shown: Tensor,
    before: Tensor | None,
    of_cell: Tensor,
    of_state: Tensor,
    gradient: Tensor,
    of_before: Tensor,
) -> None:
    enter, keep, new, leave = _parts(opened, before)
    of_enter, of_keep, of_new, of_leave = _parts(gradient, before)
    _sigmoid_backward(of_state * shown, leave, grad_input=of_leave)
    inner = _tanh_backward(of_state * leave, shown).add_(of_cell)
    _sigmoid_backward(inner * new, enter, grad_input=of_enter)
    _tanh_backward(inner * enter, new, grad_input=of_new)
    if before is not None:
        _sigmoid_backward(inner * before, keep, grad_input=of_keep)
        torch.mul(inner, keep, out=of_before)


_sigmoid_backward, _tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


def _parts(gates: Tensor, before: Tensor | None) -> list[Tensor]:
    """i, f, g and o, [rows, hidden] each; of the first step f is [rows, 0]."""
    hidden = gates.shape[1] // 3 if before is None else before.shape[1]
    return list(gates.split([hidden, 0 if before is None else hidden, hidden, hidden], dim=1))


@compiled
def _open(gates: Any, before: Any, opened: Any, cell: Any, shown: Any, state: Any, start: int, end: int) -> None:
    width, hidden = gates.shape[1], cell.shape[1]
    new, leave = width - 2 * hidden, width - hidden
    for number in range(start, end):
        given, made = gates[number], opened[number]
        closed, fresh = given[new:leave], made[new:leave]  # from 0 on, a loop takes several entries at once
        shut, leaving = given[leave:], made[leave:]
        for column in range(new):
            made[column] = sigmoid(given[column])
        for column in range(hidden):
            fresh[column] = tanh(closed[column])
        for column in range(hidden):
            leaving[column] = sigmoid(shut[column])
        row, entering = cell[number], made[:hidden]
        for column in range(hidden):
            row[column] = entering[column] * fresh[column]
        if new > hidden:
            kept, past = made[hidden:new], before[number]
            for column in range(hidden):
                row[column] += kept[column] * past[column]
        seen, out = shown[number], state[number]
        for column in range(hidden):
            seen[column] = tanh(row[column])
        for column in range(hidden):
            out[column] = seen[column] * leaving[column]


@compiled
def _slope(
    opened: Any,
    shown: Any,
    before: Any,
    of_cell: Any,
    of_state: Any,
    gradient: Any,
    of_before: Any,
    start: int,
    end: int,
) -> None:
    """A loop a gate: one over all of them would read and write too many rows to be sure that they are apart."""
    width, hidden = opened.shape[1], shown.shape[1]
    new, leave = width - 2 * hidden, width - hidden
    inner = np.empty(hidden, np.float32)
    for number in range(start, end):
        made, seen, passed, of_row, out = (
            opened[number],
            shown[number],
            of_state[number],
            of_cell[number],
            gradient[number],
        )
        enter, fresh, leaving = made[:hidden], made[new:leave], made[leave:]
        of_enter, of_fresh, of_leaving = out[:hidden], out[new:leave], out[leave:]
        for column in range(hidden):
            slope = _ONE - seen[column] * seen[column]
            inner[column] = passed[column] * leaving[column] * slope + of_row[column]
        for column in range(hidden):
            of_leaving[column] = passed[column] * seen[column] * leaving[column] * (_ONE - leaving[column])
        for column in range(hidden):
            of_enter[column] = inner[column] * fresh[column] * enter[column] * (_ONE - enter[column])
        for column in range(hidden):
            of_fresh[column] = inner[column] * enter[column] * (_ONE - fresh[column] * fresh[column])
        if new > hidden:
            kept, of_kept, past, of_past = made[hidden:new], out[hidden:new], before[number], of_before[number]
            for column in range(hidden):
                of_kept[column] = inner[column] * past[column] * kept[column] * (_ONE - kept[column])
            for column in range(hidden):
                of_past[column] = inner[column] * kept[column]
