"""A step of an LSTM, from what its gates are the sum of"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from .compiled import compiled, compiles, over_rows
from .exponential import sigmoid, tanh

_ONE = np.float32(1)


@dataclass(frozen=True, slots=True)
class Before:
    """The hop before, of which many rows may follow one."""

    parent: Tensor  # [rows] int64, the row there that each one follows
    recurrent: Tensor  # [rows there, 4 hidden], U h_{l-1}
    cell: Tensor  # [rows there, hidden], c_{l-1}


def step(own: Tensor, named: Tensor, name: Tensor, before: Before | None) -> tuple[Tensor, Tensor]:
    """c_l and h_l, [rows, hidden] each, of the gates own [rows, 4 hidden] + named[name] + recurrent[parent].

    The first step has none before it, and no f. On a CPU a row's gates stay in the cache, what is looked up is not laid
    out, and `own` is written over.
    """
    if not (compiles(own) and len(own)):
        return _plain(own, named, name, before)
    columns = (None, None, None) if before is None else (before.parent, before.recurrent.float(), before.cell)
    found: tuple[Tensor, Tensor] = _Step.apply(own, named.float(), name, *columns)  # type: ignore[no-untyped-call]
    return found


def _plain(own: Tensor, named: Tensor, name: Tensor, before: Before | None) -> tuple[Tensor, Tensor]:
    gates = own + F.embedding(name, named)
    if before is None:
        enter, new, leave = gates.chunk(3, dim=1)
        cell = torch.sigmoid(enter) * torch.tanh(new)
    else:
        enter, keep, new, leave = (gates + F.embedding(before.parent, before.recurrent)).chunk(4, dim=1)
        past = F.embedding(before.parent, before.cell)
        cell = torch.sigmoid(keep) * past + torch.sigmoid(enter) * torch.tanh(new)
    return cell, torch.sigmoid(leave) * torch.tanh(cell)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        own: Tensor,
        named: Tensor,
        name: Tensor,
        parent: Tensor | None,
        recurrent: Tensor | None,
        past: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        hidden = own.shape[1] // 3 if past is None else past.shape[1]
        cell, shown, state = own.new_empty(3, len(own), hidden).unbind()
        # where nothing is before, the loop reads none of it
        deeper = (name, named, cell) if past is None else (parent, recurrent, past)
        over_rows(_open, own, named, name, *deeper, cell, shown, state)
        ctx.save_for_backward(own, shown, name, parent, past)
        ctx.sizes = len(named), 0 if past is None else len(past)
        return cell, state

    @staticmethod
    def backward(ctx: Any, of_cell: Tensor, of_state: Tensor) -> tuple[Tensor | None, ...]:
        opened, shown, name, parent, past = ctx.saved_tensors
        gradient = torch.empty_like(opened)
        of_named, of_recurrent = (opened.new_zeros(size, opened.shape[1]) for size in ctx.sizes)
        of_past = shown.new_zeros(len(of_recurrent), shown.shape[1])
        deeper = (name, shown) if past is None else (parent, past)
        given = (opened, shown, name, *deeper, of_cell, of_state, gradient)
        over_rows(_slope, *given, sums=(of_named, of_recurrent, of_past))
        if past is None:
            return gradient, of_named, None, None, None, None
        return gradient, of_named, None, None, of_recurrent, of_past


@compiled
def _open(
    opened: Any,
    named: Any,
    name: Any,
    parent: Any,
    recurrent: Any,
    past: Any,
    cell: Any,
    shown: Any,
    state: Any,
    start: int,
    end: int,
) -> None:
    width, hidden = opened.shape[1], cell.shape[1]
    new, leave = width - 2 * hidden, width - hidden
    for number in range(start, end):
        made, called = opened[number], named[name[number]]
        fresh, leaving = made[new:leave], made[leave:]  # from 0 on, a loop takes several entries at once
        for column in range(width):
            made[column] += called[column]
        if new > hidden:
            above = recurrent[parent[number]]
            for column in range(width):
                made[column] += above[column]
        for column in range(new):
            made[column] = sigmoid(made[column])
        for column in range(hidden):
            fresh[column] = tanh(fresh[column])
        for column in range(hidden):
            leaving[column] = sigmoid(leaving[column])
        row, entering = cell[number], made[:hidden]
        for column in range(hidden):
            row[column] = entering[column] * fresh[column]
        if new > hidden:
            kept, before = made[hidden:new], past[parent[number]]
            for column in range(hidden):
                row[column] += kept[column] * before[column]
        seen, out = shown[number], state[number]
        for column in range(hidden):
            seen[column] = tanh(row[column])
        for column in range(hidden):
            out[column] = seen[column] * leaving[column]


@compiled
def _slope(
    opened: Any,
    shown: Any,
    name: Any,
    parent: Any,
    past: Any,
    of_cell: Any,
    of_state: Any,
    gradient: Any,
    of_named: Any,
    of_recurrent: Any,
    of_past: Any,
    start: int,
    end: int,
) -> None:
    """A loop a gate: one over all of them would read and write too many rows to be sure that they are apart."""
    width, hidden = opened.shape[1], shown.shape[1]
    new, leave = width - 2 * hidden, width - hidden
    inner = np.empty(hidden, np.float32)
    for number in range(start, end):
        made, seen, out = opened[number], shown[number], gradient[number]
        passed, of_row = of_state[number], of_cell[number]
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
            above = parent[number]
            kept, of_kept, before, summed = made[hidden:new], out[hidden:new], past[above], of_past[above]
            for column in range(hidden):
                of_kept[column] = inner[column] * before[column] * kept[column] * (_ONE - kept[column])
            for column in range(hidden):
                summed[column] += inner[column] * kept[column]
            total = of_recurrent[above]
            for column in range(width):
                total[column] += out[column]
        called = of_named[name[number]]
        for column in range(width):
            called[column] += out[column]
