"""Flags that say where events are"""

from __future__ import annotations

import inspect
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from ..dataset import load
from ..errors import ChronolinkError
from ..events import TemporalGraph
from ..read import read_events

SKIPPED: set[str | int] = {"events", "name", "node_features"}


def add_data_options(parser: ArgumentParser) -> None:
    parser.add_argument("--data", type=str | None, help="a data set's name or a file; may stand alone, without --data")
    parser.add_function_arguments(read_events, skip=SKIPPED)
    parser.add_argument("--node_features", type=str | None, help="a second file: a column of node names, then features")


def load_data(settings: Namespace) -> TemporalGraph:
    if settings.data is None:
        raise ChronolinkError("no data given; name a data set (`chronolink datasets`) or a file")
    return load(settings.data, **_said(settings))


def _said(settings: Namespace) -> Any:
    """What the user said of the file's columns; a named set needs none."""
    parameters = inspect.signature(read_events).parameters
    usual = {name: parameter.default for name, parameter in parameters.items() if name not in SKIPPED}
    said = {name: settings[name] for name, default in usual.items() if settings[name] not in (default, [], None)}
    if settings.node_features is not None:
        said["node_features"] = settings.node_features
    if isinstance(said.get("edge_features"), str):
        said["edge_features"] = said["edge_features"].split(",")
    return said
