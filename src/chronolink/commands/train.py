"""Train a model and test its best epoch

chronolink train DATA [--model tgat] [--time-encoder linear] [--seed 1] [--out runs/first] [...]
chronolink train --resume RUN

DATA is a name (see `chronolink datasets`) or a file; name its columns with --source, --destination, --time.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, ArgumentParser, Namespace  # type: ignore[attr-defined]

from ..build import GIVEN
from ..catalogue import find, members
from ..errors import ChronolinkError
from ..model import LinkModel
from ..report import Report
from ..run import RunFolder, build_from
from ..time_encoder import TimeEncoder
from ..training.fit import fit
from ..training.options import Training
from ._arguments import asked_for, command_parser, parse, tidy
from ._console import console, show_test, watcher
from ._data import add_data_options, load_data


def main(arguments: Sequence[str]) -> None:
    tidied = tidy(arguments, "data")
    if "--resume" in tidied and len(tidied) > 2:
        raise ChronolinkError("--resume goes on with the run's own settings; leave the other options out")
    settings = parse(_parser(tidied), tidied)
    report, out = _resume(Path(settings.resume)) if settings.resume else _start(settings)
    show_test(f"{report.data['name']}, test of epoch {_epoch(report)} ({out})", report.test)


def _parser(tidied: Sequence[str]) -> ArgumentParser:
    """All options of the run, of the model and of the time encoder that are asked for."""
    model = asked_for(tidied, "model.name", "tgat")
    encoder = asked_for(tidied, "time_encoder.name", "linear")
    parser = command_parser("train", __doc__)
    parser.add_argument("--config", action=ActionConfigFile, help="a YAML file of options, as --print-config prints")
    add_data_options(parser)
    parser.add_argument("--out", type=str | None, help="the run's folder (default: runs/DATA-MODEL-ENCODER-SEED)")
    parser.add_argument("--resume", type=str | None, help="go on with the run in this folder")
    parser.add_class_arguments(Training)
    parser.add_argument("--model.name", type=str, default=model, help="the same as --model")
    parser.add_class_arguments(find("models", model, LinkModel), "model", skip=set(GIVEN))
    parser.add_argument("--time_encoder.name", type=str, default=encoder, help="the same as --time-encoder")
    parser.add_class_arguments(find("time_encoders", encoder, TimeEncoder), "time_encoder")
    for group, folder in (("--model", "models"), ("--time_encoder", "time_encoders")):
        action = next(action for action in parser._actions if group in action.option_strings)
        action.metavar, action.help = "NAME", f"one of {', '.join(members(folder))}".replace("_", "-")
    return parser


def _start(settings: Namespace) -> tuple[Report, Path]:
    graph = load_data(settings)
    training = _training(settings)
    model = build_from(settings.as_dict(), graph)
    name, encoder = settings.model.name, settings.time_encoder
    shown = f"-{encoder.name}" if "time_encoder" in inspect.signature(type(model)).parameters else ""
    out = Path(settings.out or f"runs/{graph.name}-{name}{shown}-{training.seed}")
    return fit(model, graph, training, out=out, watch=watcher()), out


def _resume(out: Path) -> tuple[Report, Path]:
    folder = RunFolder(out)
    settings = folder.settings()
    if folder.report.exists():
        console.print(f"{out} is finished already", highlight=False)
        return Report.read(folder.report), out
    model, graph, split = folder.open()
    return fit(model, graph, _training(settings), out=out, split=split, watch=watcher(), resume=True), out


def _training(settings: Namespace | dict[str, Any]) -> Training:
    return Training(**{field.name: settings[field.name] for field in fields(Training)})


def _epoch(report: Report) -> Any:
    return next(iter(report.selected.values()))["epoch"]
