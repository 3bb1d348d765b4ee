"""EdgeBank: what met before meets again"""

from __future__ import annotations

from torch import Tensor

from ..history import History
from ..model import GraphShape, LinkModel
from ..query import LinkQuery


class Edgebank(LinkModel):
    """EdgeBank (Poursafaei et al. 2022): 1 if the pair met strictly before the asked time, else -1.

    "Towards better evaluation for dynamic link prediction". Nothing is learnt; it is what every model must beat.
    """

    def __init__(self, graph: GraphShape) -> None:  # noqa: ARG002
        super().__init__()

    def forward(self, query: LinkQuery, history: History) -> Tensor:
        last = history.last_meeting(query.source, query.destination, query.time)
        return last.isfinite().float() * 2 - 1
