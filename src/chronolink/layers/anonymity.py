"""Who a node is among walks"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..history import Neighbours
from .numbering import numbered


@dataclass(frozen=True, slots=True)
class Identities:
    """What each node on the walks of asked pairs is called: {g(w, S_u), g(w, S_v)}.

    g(w, S_u) counts how often w stands at each position of the walks of u. Different nodes of different pairs have
    the same few counts, so count vectors and pairs of them are numbered.
    """

    share: Tensor  # [vectors, positions] float64, distinct counts a walk
    pair: Tensor  # [identities, 2] int64, distinct pairs of vectors, in either order
    root: Tensor  # [ends] int64, the identity of each asked end
    hop: Tensor  # [ends, walks, length] int64, and of each node on its walks; 0 where there is none

    @classmethod
    def of(cls, root: Tensor, walks: Neighbours, num_nodes: int) -> Identities:
        """`root` [ends]: first the sources, then the destinations; `walks` [ends, walks, length]: theirs."""
        place, counts = _counts(root, walks, num_nodes)
        vector, shown = numbered(*counts.flatten(0, 1).unbind(1))
        both = vector.view(-1, 2).sort(dim=1).values
        identity, of_pair = numbered(*both.unbind(1))
        called = identity.index_select(0, place)
        hop = torch.zeros_like(walks.node).masked_scatter_(walks.valid, called[len(root) :])
        share = counts.flatten(0, 1)[shown].double() / walks.node.shape[1]
        return cls(share, both[of_pair], called[: len(root)], hop)


def _counts(root: Tensor, walks: Neighbours, num_nodes: int) -> tuple[Tensor, Tensor]:
    """[roots and hops] and [nodes of pairs, 2, positions]: where each one is counted, and the counts, by sorting."""
    ends, count, length = walks.node.shape
    positions = length + 1
    end = torch.arange(ends, device=root.device)
    of_pair, of_side = end % (ends // 2) * num_nodes, end // (ends // 2) * positions
    named = torch.cat([of_pair + root, (of_pair.view(-1, 1, 1) + walks.node)[walks.valid]])
    hops = torch.arange(length, 0, -1, device=root.device).expand(walks.node.shape)  # oldest first
    position = torch.cat([of_side, (of_side.view(-1, 1, 1) + hops)[walks.valid]])
    distinct, place = torch.unique(named, return_inverse=True)
    counts = torch.bincount(place * 2 * positions + position, minlength=len(distinct) * 2 * positions)
    counts = counts.view(-1, 2, positions)
    counts[:, :, 0] *= count  # every walk begins at its root
    return place, counts


class AnonymousIdentity(nn.Module):
    """I(w) = F(g(w, S_u)) + F(g(w, S_v)), F an MLP over the counts divided by the number of walks.

    F is computed once a distinct vector and the sum once a distinct pair: a small table.
    """

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(positions, width), nn.Linear(width, width)

    def forward(self, identities: Identities) -> Tensor:
        """[identities, width]"""
        share = identities.share.to(self.out.weight.dtype)
        encoded = self.out(torch.relu(self.hidden(share)))
        return F.embedding_bag(identities.pair, encoded, mode="sum")
