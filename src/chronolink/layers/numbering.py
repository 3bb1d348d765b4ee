"""Equal rows, one number"""

from __future__ import annotations

import torch
from torch import Tensor


def numbered(*columns: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers rows that are given by their columns: equal rows, equal numbers, from 0 on without a gap.

    Returns the number of each row, and for each number the place of one row that has it.
    """
    number = _number(columns[0])
    for column in columns[1:]:
        value = _number(column)
        size = int(value.max()) + 1 if len(value) else 1
        number = _number(number * size + value)
    rows = torch.arange(len(number), device=number.device)
    place = rows.new_empty(int(number.max()) + 1 if len(number) else 0)
    place[number] = rows
    return number, place


def _number(column: Tensor) -> Tensor:
    number: Tensor = torch.unique(column, return_inverse=True)[1]
    return number
