"""Walks that begin alike, computed once"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..history import Neighbours
from .anonymity import Identities
from .numbering import numbered


@dataclass(frozen=True, slots=True)
class Tree:
    """Which step each one follows; steps of one hop lie together, the roots first."""

    parent: Tensor  # [rows] int64, among the rows of the hop before; means nothing at a root
    sizes: tuple[int, ...]  # rows of each hop


@dataclass(frozen=True, slots=True)
class Names:
    """The distinct beginnings of walks of which only the identities are known."""

    identity: Tensor  # [rows] int64
    tree: Tree
    place: Tensor  # [rows of the prefixes] int64, where each of those stands among these


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The distinct beginnings of all walks: a row is a step after the steps of its parents.

    What a recurrent network says of a beginning it says once.
    """

    node: Tensor  # [rows] int64
    event: Tensor  # [rows] int64, row in the edge features; means nothing at a root
    number: Tensor  # [rows], what the time encoder encodes
    identity: Tensor  # [rows] int64
    tree: Tree
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
        return cls(node, event, when, identity, Tree(parent, tuple(len(step[0]) for step in steps)), end)

    def names(self) -> Names:
        """The same walks by identities alone: nodes of many pairs are called alike, so they are few."""
        columns = zip(self.identity.split(self.tree.sizes), self.tree.parent.split(self.tree.sizes), strict=True)
        parts: list[tuple[Tensor, Tensor, Tensor]] = []
        found, before = torch.zeros_like(self.identity[:1]), 0
        for identity, parent in columns:
            above = found[parent] if parts else torch.zeros_like(parent)
            found, shown = numbered(identity, above)
            parts.append((identity[shown], above[shown], found + before))
            before += len(shown)
        identities, parents, places = zip(*parts, strict=True)
        tree = Tree(torch.cat(parents), tuple(len(part) for part in identities))
        return Names(torch.cat(identities), tree, torch.cat(places))
