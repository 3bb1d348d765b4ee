"""Both ends embedded, each question once"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional as F

from ..history import History
from ..layers.distinct import Distinct
from ..model import PairModel
from ..query import LinkQuery


class EmbeddingModel(PairModel):
    """A model that embeds a node without knowing the other: equal (node, time) are embedded once."""

    def embeddings(self, query: LinkQuery, history: History) -> tuple[Tensor, Tensor]:
        asked = Distinct.of(torch.cat([query.source, query.destination]), query.time.repeat(2))
        embedding = self.embed(asked.node, asked.time, history)
        source, destination = F.embedding(asked.place, embedding).chunk(2)
        return source, destination

    @abstractmethod
    def embed(self, node: Tensor, time: Tensor, history: History) -> Tensor:
        """Embeddings of distinct (node, time), [nodes, width]."""
