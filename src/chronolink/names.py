"""Names of nodes, which may grow"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import torch
from torch import Tensor

from .errors import ChronolinkError

COMPARED = 20_000  # names at most that a misspelt one is compared with


class Names:
    """Names as users write them, and the nodes they stand for: a node is its name's place."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known: list[str] = list(known)
        self._node = {name: node for node, name in enumerate(self.known)}

    def __len__(self) -> int:
        return len(self.known)

    def __contains__(self, name: str) -> bool:
        return name in self._node

    def find(self, names: Sequence[str]) -> Tensor:
        """The nodes of these names, int64; each must be known."""
        try:
            return torch.tensor([self._node[str(name)] for name in names], dtype=torch.int64)
        except KeyError as error:
            raise self.unknown(error.args[0]) from None

    def welcome(self, names: Iterable[str]) -> Tensor:
        """The nodes of these names; those that are new come after all others."""
        found = []
        for name in names:
            node = self._node.setdefault(name, len(self.known))
            if node == len(self.known):
                self.known.append(name)
            found.append(node)
        return torch.tensor(found, dtype=torch.int64)

    def unknown(self, name: str) -> ChronolinkError:
        """`no node named 'alcie'; did you mean 'alice'?`"""
        close = get_close_matches(name, [known for known in self.known if known[:1] == name[:1]][:COMPARED], n=1)
        advice = f"did you mean '{close[0]}'?" if close else "names are those of the run's events"
        return ChronolinkError(f"no node named '{name}'; {advice}")
