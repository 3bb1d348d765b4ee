"""Contract: reset, prepare, forward, observe"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from .errors import ChronolinkError
from .events import EventStream, TemporalGraph
from .history import History
from .layers.link_head import LinkHead
from .negatives import BLOCK
from .query import LinkQuery


@dataclass(frozen=True, slots=True)
class GraphShape:
    """What a model must know of a graph before it meets one."""

    num_nodes: int
    node_width: int
    edge_width: int

    @classmethod
    def of(cls, graph: TemporalGraph) -> GraphShape:
        return cls(graph.num_nodes, graph.node_features.shape[1], graph.edge_features.shape[1])

    def check_width(self, width: int) -> None:
        """Refuses a model that is narrower than the node features it adds up."""
        if self.node_width > width:
            raise ChronolinkError(
                f"the {self.node_width} node features do not fit a width of {width}; "
                f"set the model's width to {self.node_width} or more"
            )


class LinkModel(nn.Module, ABC):
    """Tells how likely a link is at a time, from what happened strictly before.

    `forward` changes nothing, so questions may be asked in any order and number, and each is answered from its own
    past alone; only `observe` moves a memory of the model's own, and only `prepare` sets constants that are taken
    from the training events. Both are kept in buffers, so that `state_dict` holds all that a model knows.
    """

    remembers: ClassVar[bool] = False  # whether `observe` moves a memory: then only what lies ahead of it can be asked
    at_once: ClassVar[int] = BLOCK  # events best asked about together where nothing is learnt; changes no answer
    settings: Mapping[str, Any] = MappingProxyType({})  # how it was built, where it was built by name

    def prepare(self, events: EventStream, history: History) -> None:
        """Takes constants (the scale of time, a window) from the training events, once, before the first epoch."""

    def welcome(self, num_nodes: int) -> None:
        """Makes room for nodes up to this number, if the model keeps something a node."""

    def reset(self) -> None:
        """Forgets all that was observed."""

    @abstractmethod
    def forward(self, query: LinkQuery, history: History) -> Tensor:
        """Logits, one a question."""

    def observe(self, events: EventStream, history: History) -> None:
        """Takes events of the history into the model's own memory, if it has one."""


class PairModel(LinkModel):
    """A model that embeds both ends of each asked pair; its head scores the two embeddings.

    `embeddings` keeps the contract of `forward`: it changes nothing, and rests on the strict past alone.
    """

    head: LinkHead

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        return self.head(*self.embeddings(query, history))  # type: ignore[no-any-return]

    @abstractmethod
    def embeddings(self, query: LinkQuery, history: History) -> tuple[Tensor, Tensor]:
        """Of the sources and of the destinations, each [questions, width]."""
