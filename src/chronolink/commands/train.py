"""Train a model and test its best epoch

chronolink train DATA [--model tgat] [--time-encoder linear] [--seed 1] [--out runs/first] [...]
chronolink train DATA --task node-classification [--head.epochs 100] [...]
chronolink train --resume RUN

DATA is a name (see `chronolink datasets`) or a file; name its columns with --source, --destination, --time,
and for node classification --label.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, ArgumentParser, Namespace  # type: ignore[attr-defined]

from ..catalogue import plain
from ..errors import ChronolinkError, unknown
from ..events import TemporalGraph
from ..model import LinkModel
from ..report import Report
from ..run import RunFolder, build_from
from ..split import Split
from ..tasks.node_classification import NODE_CLASSIFICATION
from ..training.fit import fit
from ..training.head import HeadTraining
from ..training.node_classification import classify_nodes, is_finished
from ..training.options import Training
from ._arguments import asked_for, command_parser, parse, tidy
from ._console import console, keep_reliability, show_test, watcher
from ._data import add_data_options, load_data
from ._model import add_model_options

WHEN_STOPPED = "`chronolink train --resume RUN` goes on with the run"
TASKS = ("link-prediction", NODE_CLASSIFICATION)


def main(arguments: Sequence[str]) -> None:
    tidied = tidy(arguments, "data")
    if "--resume" in tidied and len(tidied) > 2:
        raise ChronolinkError("--resume goes on with the run's own settings; leave the other options out")
    settings = parse(_parser(tidied), tidied)
    report, out = _resume(Path(settings.resume)) if settings.resume else _start(settings)
    links = {name: found for name, found in report.test.items() if name != NODE_CLASSIFICATION}
    show_test(f"{report.data['name']}, test of epoch {_epoch(report)} ({out})", links)
    _show_states(report)
    keep_reliability(report, out)


def _parser(tidied: Sequence[str]) -> ArgumentParser:
    parser = command_parser("train", __doc__)
    parser.add_argument("--config", action=ActionConfigFile, help="a YAML file of options, as --print-config prints")
    add_data_options(parser)
    parser.add_argument("--out", type=str | None, help="the run's folder (default: runs/DATA-MODEL-ENCODER-SEED)")
    parser.add_argument("--resume", type=str | None, help="go on with the run in this folder")
    task = _task(asked_for(tidied, "task", TASKS[0]))
    about = "which adds a head on the labels behind the links (`--task node-classification --help` lists its options)"
    parser.add_argument("--task", type=str, default=task, help=f"{TASKS[0]}, or {TASKS[1]}, {about}")
    add_model_options(parser, tidied)
    if task == NODE_CLASSIFICATION:
        parser.add_class_arguments(HeadTraining, "head")
    return parser


def _task(asked: str) -> str:
    known = {plain(name): name for name in TASKS}
    if plain(asked) not in known:
        raise unknown("task", asked, TASKS)
    return known[plain(asked)]


def _start(settings: Namespace) -> tuple[Report, Path]:
    graph = load_data(settings)
    training = Training.of(settings.as_dict())
    model = build_from(settings.as_dict(), graph)
    name, encoder = settings.model.name, settings.time_encoder
    shown = f"-{encoder.name}" if "time_encoder" in inspect.signature(type(model)).parameters else ""
    nodes = "nodes-" * (_task(settings.task) == NODE_CLASSIFICATION)
    out = Path(settings.out or f"runs/{nodes}{graph.name}-{name}{shown}-{training.seed}")
    return _train(settings.as_dict(), model, graph, out), out


def _resume(out: Path) -> tuple[Report, Path]:
    folder = RunFolder(out)
    settings = folder.settings()
    if folder.report.exists() and is_finished(Report.read(folder.report), settings):
        console.print(f"{out} is finished already", highlight=False)
        return Report.read(folder.report), out
    model, graph, split = folder.open()
    return _train(settings, model, graph, out, split, resume=True), out


def _train(
    settings: Mapping[str, Any],
    model: LinkModel,
    graph: TemporalGraph,
    out: Path,
    split: Split | None = None,
    resume: bool = False,
) -> Report:
    """By the task that the settings name; the settings of a run on links name none."""
    training = Training.of(settings)
    if _task(settings.get("task", TASKS[0])) != NODE_CLASSIFICATION:
        return fit(model, graph, training, out=out, split=split, watch=watcher(), resume=resume)
    head = HeadTraining.of(settings)
    return classify_nodes(model, graph, training, head, out=out, split=split, watch=watcher(), resume=resume)


def _epoch(report: Report) -> Any:
    return next(iter(report.selected.values()))["epoch"]


def _show_states(report: Report) -> None:
    found: Any = report.test.get(NODE_CLASSIFICATION)
    if found is None or os.environ.get("RANK", "0") != "0":
        return
    chosen: Any = report.selected[NODE_CLASSIFICATION]
    console.print(
        f"nodes' states: test AUC {found['auc']:.4f}, AP {found['ap']:.4f}; state 1 at {found['positives']:,} of "
        f"{found['events']:,} events; head of epoch {chosen['epoch']}, validation AUC {chosen['validation_auc']:.4f}",
        highlight=False,
        soft_wrap=True,
    )
