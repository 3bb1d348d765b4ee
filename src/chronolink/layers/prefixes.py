"""Walks that begin alike, computed once"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..history import Neighbours
from .anonymity import Identities
from .numbering import numbered


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The distinct beginnings of all walks, as trees: a row is a step after the steps of its parents.

    Rows of one hop lie together, the roots first. What a recurrent network says of a beginning it says once.
    """

    node: Tensor  # [rows] int64
    event: Tensor  # [rows] int64, row in the edge features; means nothing at a root
    number: Tensor  # [rows], what the time encoder encodes
    identity: Tensor  # [rows] int64
    parent: Tensor  # [rows] int64, among the rows of the hop before; means nothing at a root
    sizes: tuple[int, ...]  # rows of each hop, the roots first
    end: Tensor  # [ends, walks] int64, the row at which each walk ends

    @classmethod
    def of(
        cls, asked: Tensor, root: Tensor, now: Tensor, walks: Neighbours, number: Tensor, identities: Identities
    ) -> Prefixes:
        """`asked` [ends]: equal for equal (node, time); `now` []: the number of the asked moment."""
        row, first = numbered(asked, identities.root)
        steps: list[tuple[Tensor, ...]] = [
            (root[first], torch.zeros_like(first), now.expand(len(first)), identities.root[first], first)
        ]
        row = row.unsqueeze(1).expand(walks.node.shape[:2]).contiguous()
        end, before = row.clone(), 0
        for hop in range(walks.node.shape[2] - 1, -1, -1):
            there = walks.valid[:, :, hop]
            columns = (walks.node, walks.event, number, identities.hop)
            step = (*(column[:, :, hop][there] for column in columns), row[there])
            found, place = numbered(*step)
            before += len(steps[-1][0])
            row[there], end[there] = found, found + before
            steps.append(tuple(column[place] for column in step))
        node, event, when, identity, parent = (torch.cat(column) for column in zip(*steps, strict=True))
        return cls(node, event, when, identity, parent, tuple(len(step[0]) for step in steps), end)
