"""Contract: elapsed time to features"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import ClassVar

import torch
from torch import Tensor, nn

from .errors import ChronolinkError
from .history import Neighbours


class Standardise(nn.Module):
    """(elapsed - mean) / deviation, in float64; the two constants are fitted once and saved with the model."""

    mean: Tensor
    deviation: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("deviation", torch.ones((), dtype=torch.float64))

    def fit(self, past: Neighbours) -> None:
        """Mean and deviation, over all asked nodes with a past, of a node's mean elapsed time."""
        length = past.valid.sum(-1)
        means = (past.elapsed.sum(-1) / length)[length > 0]
        deviation = means.std(correction=0) if len(means) else torch.zeros(())
        self.mean.fill_(means.mean() if len(means) else 0.0)
        self.deviation.fill_(deviation if deviation > 0 else 1.0)

    def forward(self, elapsed: Tensor) -> Tensor:
        return (elapsed.double() - self.mean) / self.deviation


class TimeEncoder(nn.Module, ABC):
    """Maps the time since an event, [...], to features, [..., width].

    `measure` says which number of a past event is encoded, `encode` turns that number into features. An encoder
    whose features are `number * slope + intercept` says so by `affine`, and a model may then work with the number
    itself.
    """

    standardised: ClassVar[bool] = False

    def __init__(self, width: int) -> None:
        super().__init__()
        if width < 1:
            raise ChronolinkError(f"a time encoder of width {width} is empty; give it a width of 1 or more")
        self.width = width
        self.scale = Standardise()

    def fit(self, past: Neighbours) -> None:
        """Fits the standardisation, if this encoder has one, on the past of the training events' ends."""
        if self.standardised:
            self.scale.fit(past)

    def measure(self, past: Neighbours) -> Tensor:
        """The number that is encoded for each past event: its elapsed time."""
        return self.number(past.elapsed)

    def number(self, elapsed: Tensor) -> Tensor:
        own = next(chain(self.parameters(), self.buffers(recurse=False)), None)
        return self.scale(elapsed).to(torch.get_default_dtype() if own is None else own.dtype)  # type: ignore[no-any-return]

    def forward(self, elapsed: Tensor) -> Tensor:
        return self.encode(self.number(elapsed))

    def now(self) -> Tensor:
        """The features of the asked moment itself, [width]."""
        return self(torch.zeros((), dtype=torch.float64, device=self.scale.mean.device))  # type: ignore[no-any-return]

    @abstractmethod
    def encode(self, number: Tensor) -> Tensor: ...

    def affine(self) -> Tensor | None:
        """[width, 2]: slope and intercept of every feature, where each is affine in the number."""
        return None

    def factors(self, number: Tensor) -> tuple[Tensor, Tensor | None]:
        """Numbers [..., few] and the basis [width, few] whose product with them the features are: of an affine encoder
        (number, 1) and its lines, of any other the features themselves and no basis.
        """
        lines = self.affine()
        if lines is None:
            return self.encode(number), None
        return torch.stack([number, torch.ones_like(number)], dim=-1), lines

    def before_linear(self) -> TimeEncoder:
        """What is left of the encoder in a model that maps its features linearly at once: an affine one needs no
        weights of its own there.
        """
        return self


class Plain(TimeEncoder):
    """The standardised time itself, as one feature."""

    standardised = True
    line: Tensor

    def __init__(self) -> None:
        super().__init__(1)
        self.register_buffer("line", torch.tensor([[1.0, 0.0]]), persistent=False)

    def encode(self, number: Tensor) -> Tensor:
        return number.unsqueeze(-1)

    def affine(self) -> Tensor:
        return self.line


def frequencies(count: int) -> Tensor:
    """1 / 10^x for `count` values of x from 0 to 9: periods from seconds to decades."""
    return 10.0 ** -torch.linspace(0, 9, count)
