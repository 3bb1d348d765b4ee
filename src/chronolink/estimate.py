"""How long jobs take here"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

from .dataset import load
from .events import TemporalGraph
from .files import read_json
from .job import Job
from .jobs.training import TrainingJob
from .run import build_from
from .split import Split
from .tasks.link_prediction import LinkPrediction
from .training.epoch import Learner, run_epoch
from .training.processes import accelerator_for

EPOCHS = 60  # that a training takes until it stops by itself, where none has been seen yet
BESIDE = 1.3  # an epoch with its validation, in training passes
STEPS = 3


class Estimates:
    """Seconds a job will take here: the epochs that finished runs of its kind took, and steps timed now.

    The seconds of finished runs do not count: they may be of another machine, or of a busy one.
    """

    def __init__(self, out: Path) -> None:
        self.epochs: dict[str, list[int]] = {}
        self.epoch_seconds: dict[str, float] = {}
        for path in sorted(out.glob("runs/*/report.json")):
            report = read_json(path)
            if "model" in report["settings"] and "epochs" in report:
                self.epochs.setdefault(_kind(report["settings"]), []).append(len(report["epochs"]))

    def seconds(self, job: Job) -> float | None:
        if not isinstance(job, TrainingJob):
            return None
        kind = _kind(job.settings)
        if kind not in self.epoch_seconds:
            self.epoch_seconds[kind] = _epoch(job)
        epochs = statistics.fmean(self.epochs.get(kind, [min(EPOCHS, job.training.epochs)]))
        return epochs * BESIDE * self.epoch_seconds[kind]


def _kind(settings: Mapping[str, Any]) -> str:
    """All settings but those that leave the work of an epoch as it is."""
    alike = {key: value for key, value in settings.items() if key not in ("seed", "select_by")}
    return json.dumps(alike, sort_keys=True)


def _epoch(job: TrainingJob) -> float:
    """Seconds of one pass over the training events, from steps in its middle; none where nothing is learnt."""
    graph, split = _data(job.settings["data"])
    task = LinkPrediction(graph, split)
    model = build_from(job.settings, graph)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return 0.0
    model.prepare(task.train[:2000], task.train_history)
    size, training = job.training.batch_size, job.training
    middle = len(task.train) // 2
    questions = task.training_questions(training.seed, 1)
    learner = Learner(torch.optim.Adam(model.parameters()), training.seed, 1)
    accelerator = accelerator_for(training.device, training.precision)
    taken = []
    for events in (size // 10, *[size] * STEPS):  # the first step is slow, and need not be whole
        begun = time.perf_counter()
        asked = questions.block(middle, middle + events)
        run_epoch(model, asked, task.train_history, accelerator, size, learner=learner)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken[1:]) * len(task.train) / size


@cache
def _data(data: str) -> tuple[TemporalGraph, Split]:
    graph = load(data)
    return graph, Split.of(graph)
