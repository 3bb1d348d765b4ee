"""How a model is trained and judged"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args, get_type_hints

from ..errors import ChronolinkError, unknown
from ..negatives import BLOCK, NegativesName

Precision = Literal["no", "bf16", "fp16"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The options of a run; the defaults are the benchmark's.

    Args:
        seed: decides the first weights, the training negatives and the dropout.
        epochs: at most so many.
        min_epochs: at least so many before early stopping.
        patience: stop after so many epochs without a better validation AP.
        batch_size: events a training step.
        learning_rate: of Adam.
        select_by: negatives whose validation AP chooses the epoch that is tested: random, historical or inductive;
            of several, as in random,historical, each chooses its own, and the first one's test is the report's.
        candidates: rank every test event among so many random destinations (MRR, Hits@10); 0 leaves it out.
        device: auto takes a GPU where there is one, cuda insists on it.
        precision: of the matrix products; no is float32 throughout.
    """

    seed: int = 1
    epochs: int = 100
    min_epochs: int = 10
    patience: int = 20
    batch_size: int = BLOCK
    learning_rate: float = 1e-4
    select_by: str = "random"
    candidates: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Precision = "no"

    def __post_init__(self) -> None:
        least = {"epochs": 0, "min_epochs": 0, "patience": 1, "batch_size": 1, "candidates": 0, "seed": 0}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in least and value < least[field.name]:
                raise ChronolinkError(f"{field.name} is {value}; it must be {least[field.name]} or more")
        if self.seed >= 2**63:
            raise ChronolinkError(f"seed is {self.seed}; it must be below 2**63")
        for name in ("device", "precision"):
            known = get_args(get_type_hints(Training)[name])
            if getattr(self, name) not in known:
                raise unknown(name, str(getattr(self, name)), known)
        if not self.learning_rate > 0:
            raise ChronolinkError(f"learning_rate is {self.learning_rate}; it must be above 0")

        for criterion in self.criteria:
            if criterion not in get_args(NegativesName):
                raise unknown("kind of negatives", criterion, get_args(NegativesName))

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Training:
        """Its options among all settings of a run."""
        return cls(**{field.name: settings[field.name] for field in fields(cls) if field.name in settings})

    @property
    def criteria(self) -> list[NegativesName]:
        return [cast(NegativesName, name.strip()) for name in dict.fromkeys(self.select_by.split(","))]
