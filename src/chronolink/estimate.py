"""How long jobs take here"""

from __future__ import annotations

import statistics
import time
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


class Estimates:
    """Seconds a job will take: as finished ones of its kind took, or by a timed step."""

    def __init__(self, out: Path) -> None:
        self.taken: dict[tuple[Any, ...], list[float]] = {}
        for path in sorted(out.glob("runs/*/report.json")):
            report = read_json(path)
            if "model" in report["settings"] and "seconds" in report.get("cost", {}):
                kind = _kind(report["settings"])
                self.taken.setdefault(kind, []).append(BESIDE * sum(report["cost"]["seconds"]))

    def seconds(self, job: Job) -> float | None:
        if not isinstance(job, TrainingJob):
            return None
        taken = self.taken.get(_kind(job.settings))
        if taken:
            return statistics.fmean(taken)
        epochs = min(EPOCHS, job.training.epochs)
        return epochs * BESIDE * _epoch(job)


def _kind(settings: dict[str, Any] | Any) -> tuple[Any, ...]:
    model, encoder = settings["model"], settings.get("time_encoder", {})
    return (settings["data"], model["name"], encoder.get("name"), model.get("channel"), settings["epochs"])


def _epoch(job: TrainingJob) -> float:
    """Seconds of one pass over the training events, from one step in its middle; none where nothing is learnt."""
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
    for events in (size // 10, size):  # the first step is slow, and need not be whole
        begun = time.perf_counter()
        asked = questions.block(middle, middle + events)
        run_epoch(model, asked, task.train_history, accelerator, size, learner=learner)
    return (time.perf_counter() - begun) * len(task.train) / size


@cache
def _data(data: str) -> tuple[TemporalGraph, Split]:
    graph = load(data)
    return graph, Split.of(graph)
