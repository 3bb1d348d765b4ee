"""Train a model and test its best epoch

chronolink train DATA [--model tgat] [--time-encoder linear] [--seed 1] [--out runs/first] [...]
chronolink train --resume RUN

DATA is a name (see `chronolink datasets`) or a file; name its columns with --source, --destination, --time.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, ArgumentParser, Namespace  # type: ignore[attr-defined]

from ..errors import ChronolinkError
from ..report import Report
from ..run import RunFolder, build_from
from ..training.fit import fit
from ..training.options import Training
from ._arguments import command_parser, parse, tidy
from ._console import console, show_test, watcher
from ._data import add_data_options, load_data
from ._model import add_model_options


def main(arguments: Sequence[str]) -> None:
    tidied = tidy(arguments, "data")
    if "--resume" in tidied and len(tidied) > 2:
        raise ChronolinkError("--resume goes on with the run's own settings; leave the other options out")
    settings = parse(_parser(tidied), tidied)
    report, out = _resume(Path(settings.resume)) if settings.resume else _start(settings)
    show_test(f"{report.data['name']}, test of epoch {_epoch(report)} ({out})", report.test)


def _parser(tidied: Sequence[str]) -> ArgumentParser:
    parser = command_parser("train", __doc__)
    parser.add_argument("--config", action=ActionConfigFile, help="a YAML file of options, as --print-config prints")
    add_data_options(parser)
    parser.add_argument("--out", type=str | None, help="the run's folder (default: runs/DATA-MODEL-ENCODER-SEED)")
    parser.add_argument("--resume", type=str | None, help="go on with the run in this folder")
    add_model_options(parser, tidied)
    return parser


def _start(settings: Namespace) -> tuple[Report, Path]:
    graph = load_data(settings)
    training = Training.of(settings.as_dict())
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
    return fit(model, graph, Training.of(settings), out=out, split=split, watch=watcher(), resume=True), out


def _epoch(report: Report) -> Any:
    return next(iter(report.selected.values()))["epoch"]
