"""What was run, what came out"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .errors import ChronolinkError
from .files import read_json, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run, whole: what decided it, what every epoch brought, and the test of the best epoch.

    All but `cost` is the same whenever the run is repeated on the same machine.
    """

    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    data: Mapping[str, Any]  # name, digest, sizes
    split: Mapping[str, Any]  # digest, sizes
    parameters: int
    epochs: list[dict[str, Any]]
    selected: Mapping[str, Any]  # by criterion: epoch, validation AP, test, calibration
    test: Mapping[str, Any]  # of the first criterion; test["random"]["ap"], test["unseen"]["random"]["ap"], ...
    cost: Mapping[str, Any]  # seconds an epoch, peak memory: these differ from run to run
    # of the first criterion: temperature, offset, note, reliability of the test by negatives; reports of old lack it
    calibration: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Report:
        try:
            return cls(**read_json(path))
        except TypeError as error:
            raise ChronolinkError(f"{path} is no report: {error}") from error


def versions() -> dict[str, str]:
    """Of all that can change a number."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("chronolink", "torch", "numpy")}
