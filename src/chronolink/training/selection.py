"""The best epoch, and when to stop"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from ..model import LinkModel
from ..negatives import NegativesName


@dataclass(slots=True)
class Selection:
    """Keeps the weights of the epoch with the highest validation AP under one kind of negatives.

    It is over once `patience` epochs brought nothing better; what comes later is not looked at.
    """

    criterion: NegativesName
    epoch: int = 0
    ap: float = -1.0
    waited: int = 0
    over: bool = False
    weights: dict[str, Tensor] = field(default_factory=dict, repr=False)

    def consider(self, model: LinkModel, epoch: int, ap: float, patience: int, min_epochs: int) -> None:
        if self.over:
            return
        if ap > self.ap:
            self.ap, self.epoch, self.waited = ap, epoch, 0
            self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        else:
            self.waited += 1
        self.over = self.waited >= patience and epoch >= min_epochs
