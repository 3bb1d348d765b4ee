"""Contract: scope to jobs, jobs to findings"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .catalogue import plain
from .job import Job
from .table import Table
from .training.options import Precision, Training

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of a study is asked for; an empty choice is all that the paper has."""

    data: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    time_encoders: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    epochs: int | None = None  # at most
    precision: Precision = "no"

    def of_data(self, known: Sequence[str]) -> tuple[str, ...]:
        """Asked data sets that the paper does not have are studied all the same, after those it has."""
        chosen = _chosen(self.data, known)
        return (*chosen, *(name for name in self.data if plain(name) not in map(plain, known)))

    def of_seeds(self, known: Sequence[int] = (1, 2, 3, 4, 5)) -> tuple[int, ...]:
        return self.seeds or tuple(known)

    def of_models(self, known: Sequence[str]) -> tuple[str, ...]:
        return _chosen(self.models, known)

    def of_time_encoders(self, known: Sequence[str]) -> tuple[str, ...]:
        return _chosen(self.time_encoders, known)

    def unit(self, unit: str) -> str:
        """With the precision beside it, where it is not the usual one."""
        return unit if self.precision == "no" else f"{unit}, {self.precision}"

    def training(self, seed: int, **options: Any) -> Training:
        """Of one run, with as many epochs and the precision that are asked for."""
        asked = {} if self.epochs is None else {"epochs": self.epochs}
        return Training(seed=seed, precision=self.precision, **{**options, **asked})


@dataclass(frozen=True, slots=True)
class Findings:
    """What the finished runs of a study say."""

    tables: tuple[Table, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)  # by the name of the file


class Study(ABC):
    """A table or a figure of the paper: which runs it needs, and what becomes of their reports."""

    title: ClassVar[str]
    about: ClassVar[str]
    alone: ClassVar[bool] = False  # whether its runs are measured, and so must not run side by side

    @abstractmethod
    def jobs(self, scope: Scope) -> list[Job]:
        """All runs that it needs."""

    @abstractmethod
    def findings(self, scope: Scope, out: Path) -> Findings:
        """From the reports that are there; what is missing is left open."""


def _chosen(asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    wanted = {plain(name) for name in asked}
    return tuple(name for name in known if not wanted or plain(name) in wanted)
