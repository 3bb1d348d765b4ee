"""Search for the best options of a model

chronolink tune DATA [--model dygformer] [--time-encoder linear] [--space FILE] [--trials N] [--out FOLDER] [...]

Every trial is trained as by `chronolink train` and judged by its validation AP (--select-by), never by the test. The
space is the paper's, or a YAML file of lines such as `dropout: [0.1, 0.3]`, `time_encoder.width: [50, 100]`. The same
command goes on with a search that was stopped; given several times at once it shares the trials.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
from jsonargparse import ActionConfigFile, ArgumentParser, Namespace  # type: ignore[attr-defined]
from rich.table import Table

from ..errors import ChronolinkError
from ..files import read_yaml
from ..training.space import Point, Space, named_in_full, paper_space
from ..training.tuning import Trial, Tuning
from ..training.watch import Watch
from ._arguments import command_parser, parse, tidy
from ._console import console, messages, watcher
from ._data import add_data_options, load_data
from ._model import add_model_options

WHEN_STOPPED = "the same command goes on with the search"


def main(arguments: Sequence[str]) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    tidied = tidy(arguments, "data")
    parser = _parser(tidied)
    settings = parse(parser, tidied)
    tuning = _tuning(settings, _space(parser, settings))
    tuning.run(_begin)
    _show(tuning.trials(), tuning)


def _parser(tidied: Sequence[str]) -> ArgumentParser:
    parser = command_parser("tune", __doc__)
    parser.add_argument("--config", action=ActionConfigFile, help="a YAML file of options, as --print-config prints")
    add_data_options(parser)
    parser.add_argument(
        "--out", type=str | None, help="the search's folder (default: runs/tune-DATA-MODEL-ENCODER-SEED)"
    )
    parser.add_argument(
        "--space", type=str | None, help="a YAML file, a list of values an option (default: the paper's)"
    )
    parser.add_argument("--storage", type=str | None, help="URL of an Optuna storage (default: a file in the folder)")
    parser.add_argument("--trials", type=int | None, help="points to try, drawn by the seed (default: all)")
    parser.add_argument("--prune_after", type=int, default=2, help="trials that are finished before any is pruned")
    add_model_options(parser, tidied)
    return parser


def _space(parser: ArgumentParser, settings: Namespace) -> Space:
    model, encoder = settings.model.name, settings.time_encoder.name
    if settings.space is None:
        return paper_space(model, encoder)
    space = named_in_full(read_yaml(Path(settings.space)), model, encoder)
    return {name: [_typed(parser, name, value) for value in values] for name, values in space.items()}


def _typed(parser: ArgumentParser, name: str, value: Any) -> Any:
    """The value as the flag of the option would take it: YAML reads 1e-3 as a word."""
    return parse(parser, [f"--{name}", value if isinstance(value, str) else json.dumps(value, default=str)])[name]


def _tuning(settings: Namespace, space: Space) -> Tuning:
    if settings.trials is not None and settings.trials < 1:
        raise ChronolinkError(f"trials is {settings.trials}; it must be 1 or more")
    if settings.prune_after < 0:
        raise ChronolinkError(f"prune_after is {settings.prune_after}; it must be 0 or more")
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ChronolinkError("a trial takes one process; leave torchrun out and give the command several times")
    graph = load_data(settings)
    named = f"{graph.name}-{settings.model.name}-{settings.time_encoder.name}-{settings.seed}"
    return Tuning(
        graph,
        settings.as_dict(),
        space,
        settings.out or f"runs/tune-{named}",
        storage=settings.storage,
        trials=settings.trials,
        prune_after=settings.prune_after,
    )


def _begin(number: int, point: Point) -> Watch:
    shown = ", ".join(f"{_short(name)} {value}" for name, value in point.items())
    messages.print(f"trial {number}: {shown}", highlight=False)
    return watcher()


def _show(trials: Sequence[Trial], tuning: Tuning) -> None:
    options = list(tuning.space)
    title = f"{tuning.graph.name}, validation AP of {len(trials)} trials ({tuning.out})"
    table = Table("trial", *map(_short, options), "AP", "epoch", "seconds", "state", title=title, title_justify="left")
    for trial in trials:
        point = [str(trial.point.get(option, "")) for option in options]
        ap = "" if trial.ap is None else f"{trial.ap:.4f}"
        seconds = "" if trial.seconds is None else f"{trial.seconds:.1f}"
        state = trial.state + f": {trial.error}" * bool(trial.error)
        table.add_row(str(trial.number), *point, ap, str(trial.epoch or ""), seconds, state)
    console.print(table)
    tuning.best()
    console.print(f"best: chronolink train --config {tuning.out / 'best.yaml'}", highlight=False, soft_wrap=True)


def _short(option: str) -> str:
    return option.removeprefix("model.")
