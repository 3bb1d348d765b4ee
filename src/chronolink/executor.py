"""Contract: work in, outcomes as they come"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ChronolinkError

TIMES = 3  # a piece is begun at most so often when its worker is lost


@dataclass(frozen=True, slots=True)
class Work:
    """A call that can be sent to another process: a partial of a function of a module."""

    name: str
    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a piece of work: its value, or in one line why there is none."""

    name: str
    value: Any = None
    error: str | None = None


class Executor(ABC):
    """Does pieces of work, each once, or again where a worker was lost."""

    @abstractmethod
    def run(self, work: Sequence[Work]) -> Iterator[Outcome]:
        """One outcome a piece, in the order in which they end; an error ends its own piece alone."""


def attempt(piece: Work) -> Outcome:
    """Does the piece here and now; an exception becomes its outcome, Ctrl-C passes through."""
    try:
        return Outcome(piece.name, piece.call())
    except Exception as error:
        return Outcome(piece.name, error=reason(error))


def reason(error: BaseException) -> str:
    """One line: the words of our own errors, the type and the words of others."""
    words = str(error) if isinstance(error, ChronolinkError) else f"{type(error).__name__}: {error}"
    return " ".join(words.split()).removesuffix(":")
