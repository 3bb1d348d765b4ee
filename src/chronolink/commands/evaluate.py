"""Test a finished run again, under any negatives

chronolink evaluate RUN [--negatives historical] [--batch-size 7] [--candidates 100] [--part validation]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal, get_args

from jsonargparse import ArgumentParser

from ..errors import ChronolinkError
from ..negatives import NegativesName
from ..run import RunFolder
from ..tasks.link_prediction import LinkPrediction, Part
from ..training.evaluate import summary, verdicts
from ..training.processes import accelerator_for
from ._arguments import command_parser, parse, tidy
from ._console import show_calibration, show_test, watcher


def main(arguments: Sequence[str]) -> None:
    tidied = tidy(arguments, "run")
    settings = parse(_parser(), tidied)
    if settings.run is None:
        raise ChronolinkError("no run given; name the folder that train wrote")
    for name, least in (("batch_size", 1), ("candidates", 0)):
        if settings[name] is not None and settings[name] < least:
            raise ChronolinkError(f"{name} is {settings[name]}; it must be {least} or more")
    folder = RunFolder(settings.run)
    model, graph, split = folder.open()
    folder.load_weights(model)
    calibration = folder.calibration()
    accelerator = accelerator_for(settings.device)
    task = LinkPrediction(graph.to(accelerator.device), split)
    model.to(accelerator.device)
    watch = watcher()
    found = verdicts(
        model,
        task,
        accelerator,
        settings.part,
        get_args(NegativesName) if settings.negatives == "all" else [settings.negatives],
        settings.candidates,
        settings.batch_size,
        watch,
        calibration,
    )
    watch.close()
    if settings.json:
        print(json.dumps({**summary(found), "calibration": asdict(calibration)}, indent=2))
    else:
        show_test(f"{graph.name}, {settings.part} ({settings.run})", summary(found))
        show_calibration(calibration)


def _parser() -> ArgumentParser:
    parser = command_parser("evaluate", __doc__)
    parser.add_argument("--run", type=str | None, help="the run's folder; may stand alone, without --run")
    kinds = Literal["all", "random", "historical", "inductive"]
    parser.add_argument("--negatives", type=kinds, default="all", help="one kind, or all")
    parser.add_argument("--batch_size", type=int | None, help="events asked about at once; changes no answer")
    parser.add_argument("--candidates", type=int, default=0, help="also rank each event among so many destinations")
    parser.add_argument("--part", type=Part, default="test", help="the part of the split")
    parser.add_argument(
        "--device", type=Literal["auto", "cpu"], default="auto", help="auto takes a GPU if there is one"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser
