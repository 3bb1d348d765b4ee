"""Names and options to a model"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

import torch

from .catalogue import find, plain
from .errors import ChronolinkError, unknown
from .events import TemporalGraph
from .model import GraphShape, LinkModel
from .time_encoder import TimeEncoder

T = TypeVar("T")
GIVEN = ("graph", "time_encoder")  # what a model's constructor takes besides its options


def options_of(maker: type) -> dict[str, inspect.Parameter]:
    """The options in a constructor's signature: the one place where they are defined."""
    parameters = dict(inspect.signature(maker).parameters)
    return {name: parameter for name, parameter in parameters.items() if name not in GIVEN}


def build(
    model: str,
    graph: TemporalGraph | GraphShape,
    time_encoder: str | Mapping[str, Any] = "linear",
    seed: int = 1,
    **options: Any,
) -> LinkModel:
    """A model by name, such as `build("tgat", graph, time_encoder="linear", dropout=0.3)`.

    The seed decides its first weights; `options` are those of the model's constructor. A time encoder with options
    of its own is given as `{"name": "linear", "width": 50}`.
    """
    maker = find("models", model, LinkModel)
    settings: dict[str, Any] = {"model": {"name": plain(model), **options}}
    given: dict[str, Any] = {"graph": GraphShape.of(graph) if isinstance(graph, TemporalGraph) else graph}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if "time_encoder" in inspect.signature(maker).parameters:
            if not isinstance(time_encoder, str | Mapping):
                raise ChronolinkError(
                    f"{type(time_encoder).__name__} is no name of a time encoder; an encoder of your own goes straight "
                    f"to the model, as in {maker.__name__}(GraphShape.of(graph), encoder)"
                )
            encoder = {"name": time_encoder} if isinstance(time_encoder, str) else dict(time_encoder)
            settings["time_encoder"] = {**encoder, "name": plain(encoder["name"])}
            given["time_encoder"] = build_time_encoder(**encoder)
        built = _made(maker, model, given, options)
    built.settings = settings
    return built


def build_time_encoder(name: str, **options: Any) -> TimeEncoder:
    return _made(find("time_encoders", name, TimeEncoder), name, {}, options)


def _made(maker: type[T], name: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> T:
    for option in options:
        if option not in options_of(maker):
            raise unknown(f"option of {name}", option, options_of(maker))
    try:
        return maker(**given, **options)
    except TypeError as error:
        raise ChronolinkError(f"{name}: {error}") from error
