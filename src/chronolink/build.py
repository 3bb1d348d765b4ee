"""Names and options to a model"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from .catalogue import find, plain
from .errors import ChronolinkError, unknown
from .events import TemporalGraph
from .model import GraphShape, LinkModel
from .time_encoder import TimeEncoder

GIVEN = ("graph", "time_encoder")  # what a model's constructor takes besides its options


def options_of(maker: type) -> dict[str, inspect.Parameter]:
    """The options in a constructor's signature: the one place where they are defined."""
    parameters = dict(inspect.signature(maker).parameters)
    return {name: parameter for name, parameter in parameters.items() if name not in GIVEN}


def build(
    model: str,
    graph: TemporalGraph | GraphShape,
    time_encoder: str = "linear",
    time_width: int = 100,
    seed: int = 1,
    **options: Any,
) -> LinkModel:
    """A model by name, such as `build("tgat", graph, time_encoder="linear", dropout=0.3)`.

    The seed decides its first weights; `options` are those of the model's constructor.
    """
    maker = find("models", model, LinkModel)
    for name in options:
        if name not in options_of(maker):
            raise unknown(f"option of {model}", name, options_of(maker))
    settings: dict[str, Any] = {"model": {"name": plain(model), **options}}
    given: dict[str, Any] = {"graph": GraphShape.of(graph) if isinstance(graph, TemporalGraph) else graph}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if "time_encoder" in inspect.signature(maker).parameters:
            given["time_encoder"] = find("time_encoders", time_encoder, TimeEncoder)(width=time_width)
            settings["time_encoder"] = {"name": plain(time_encoder), "width": time_width}
        try:
            built = maker(**given, **options)
        except TypeError as error:
            raise ChronolinkError(f"{model}: {error}") from error
    built.settings = settings
    return built
