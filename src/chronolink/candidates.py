"""Who may be next: candidates, each embedded once"""

from __future__ import annotations

import torch
from torch import Tensor

from .events import EventStream
from .growing import GrowingHistory
from .model import LinkModel
from .models._embedding import EmbeddingModel
from .query import LinkQuery

ASKED_AT_ONCE = 8192  # pairs; bounds memory however many candidates there are
KEPT = 200_000  # nodes whose embeddings are kept


class Arrivals:
    """When each node was a destination for the first time."""

    def __init__(self) -> None:
        self._first = torch.empty(0, dtype=torch.float64)

    def note(self, events: EventStream) -> None:
        missing = int(events.destination.max()) + 1 - len(self._first) if len(events) else 0
        if missing > 0:  # room for as many again, so that few are moved
            room = torch.full((missing + len(self._first),), torch.inf, dtype=torch.float64)
            self._first = torch.cat([self._first, room])
        self._first.scatter_reduce_(0, events.destination, events.time, "amin")

    def before(self, time: float) -> Tensor:
        """Nodes that had been a destination by then."""
        return (self._first < time).nonzero().squeeze(1)


class Asking:
    """Asks a model about pairs, a few thousand at a time.

    A model that embeds a node without knowing the other does so once for all questions of one time about one history:
    ranking many nodes takes a head's work a pair. Beyond `KEPT` nodes nothing is kept.
    """

    def __init__(self, model: LinkModel, history: GrowingHistory) -> None:
        self.model, self.history = model, history
        self._moment: tuple[float, int] | None = None  # the asked time, and the version of the history
        self._embedding = torch.empty(0, 0)  # [nodes, width]
        self._known = torch.empty(0, dtype=torch.bool)  # [nodes]

    def pairs(self, query: LinkQuery) -> Tensor:
        """Scores, one a question."""
        pieces = [query[start : start + ASKED_AT_ONCE] for start in range(0, len(query), ASKED_AT_ONCE)]
        with torch.no_grad():
            return torch.cat([torch.empty(0), *(self.model(piece, self.history).float() for piece in pieces)])

    def among(self, source: Tensor, candidates: Tensor, time: float) -> Tensor:
        """Scores of one source, [1], with each candidate."""
        moments = torch.full((len(candidates),), time, dtype=torch.float64)
        if not isinstance(self.model, EmbeddingModel) or self.history.num_nodes > KEPT:
            return self.pairs(LinkQuery(source.expand(len(candidates)), candidates, moments))
        table = self._embedded(self.model, torch.cat([source, candidates]), time)
        own, pieces = table[source], candidates.split(ASKED_AT_ONCE)
        with torch.no_grad():
            return torch.cat([self.model.head(own.expand(len(piece), -1), table[piece]) for piece in pieces]).float()

    def _embedded(self, model: EmbeddingModel, nodes: Tensor, time: float) -> Tensor:
        """The table of embeddings at that time, filled for these nodes."""
        if self._moment != (time, self.history.version):
            self._moment = (time, self.history.version)
            self._embedding, self._known = torch.empty(0, 0), torch.zeros(self.history.num_nodes, dtype=torch.bool)
        missing = nodes[~self._known[nodes]].unique()
        for piece in missing.split(ASKED_AT_ONCE) if len(missing) else ():
            with torch.no_grad():
                rows = model.embed(piece, torch.full((len(piece),), time, dtype=torch.float64), self.history)
            if not len(self._embedding):
                self._embedding = rows.new_zeros(self.history.num_nodes, rows.shape[1])
            self._embedding[piece], self._known[piece] = rows, True
        return self._embedding
