"""Which options a search may try"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..build import options_of
from ..catalogue import find, plain
from ..errors import ChronolinkError, unknown
from ..model import LinkModel
from ..time_encoder import TimeEncoder
from .options import Training

Point = dict[str, Any]  # an option's full name, such as model.dropout, to its value
Space = Mapping[str, Sequence[Any]]

PAPER: Space = {"model.dropout": (0.1, 0.3, 0.5), "model.channel": (30, 50)}  # where a model has the option


def options(model: str, time_encoder: str) -> list[str]:
    """Full names of all that can be tried; not the criterion, which is the measure itself."""
    names = [f"model.{name}" for name in options_of(find("models", model, LinkModel))]
    names += [f"time_encoder.{name}" for name in options_of(find("time_encoders", time_encoder, TimeEncoder))]
    return names + [field.name for field in fields(Training) if field.name != "select_by"]


def paper_space(model: str, time_encoder: str) -> Space:
    known = options(model, time_encoder)
    space = {name: values for name, values in PAPER.items() if name in known}
    if not space:
        wanted = " or ".join(name.removeprefix("model.") for name in PAPER)
        raise ChronolinkError(f"{model} has no option {wanted}, which the paper searches; say what to try by --space")
    return space


def named_in_full(given: Mapping[str, Any], model: str, time_encoder: str) -> dict[str, list[Any]]:
    """The space with every option's full name: `dropout` is `model.dropout`."""
    known = options(model, time_encoder)
    short = {name.removeprefix("model."): name for name in known[::-1]} | {name: name for name in known}
    space: dict[str, list[Any]] = {}
    for name, values in given.items():
        if plain(str(name)) not in short:
            raise unknown("option", str(name), set(short) - {name for name in known if name.startswith("model.")})
        if not isinstance(values, list | tuple) or not values:
            raise ChronolinkError(f"{name} has no values to try; write a list, as in {name}: [0.1, 0.3]")
        space[short[plain(str(name))]] = [value for i, value in enumerate(values) if value not in values[:i]]
    if not space:
        raise ChronolinkError("the space is empty; write `option: [value, value]` lines")
    return space


def points(space: Space, limit: int | None, seed: int) -> list[Point]:
    """Every point of the grid, or so many drawn from it; a higher limit only adds to them."""
    grid = [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
    if limit is None or limit >= len(grid):
        return grid
    random.Random(seed).shuffle(grid)
    return grid[:limit]


def key(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def at(settings: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """The settings with the point's values in their places."""
    changed = copy.deepcopy(dict(settings))
    for name, value in point.items():
        *group, option = name.split(".")
        (changed[group[0]] if group else changed)[option] = value
    return changed
