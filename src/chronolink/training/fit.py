"""From a model and a graph to a report"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from ..events import TemporalGraph
from ..model import LinkModel
from ..report import Report, versions
from ..run import RunFolder
from ..split import Split
from ..tasks.link_prediction import LinkPrediction
from .checkpoint import Progress, Record, load_checkpoint, save_checkpoint
from .epoch import Learner, run_epoch
from .evaluate import calibrate, evaluate, reliabilities, summary, verdicts
from .options import Training
from .processes import accelerator_for
from .selection import Selection
from .tensorboard import tensorboard
from .watch import Several, Watch


def fit(
    model: LinkModel,
    graph: TemporalGraph,
    training: Training | None = None,
    *,
    out: Path | str | None = None,
    split: Split | None = None,
    watch: Watch | None = None,
    resume: bool = False,
) -> Report:
    """Trains a model, tests its best epoch and returns the report; with `out`, keeps all of it in that folder.

    A run that was killed goes on with `resume` from its last whole epoch and ends as if nothing had happened.
    """
    training = training or Training()
    accelerator = accelerator_for(training.device, training.precision)
    folder = RunFolder(out) if out is not None and accelerator.is_main_process else None
    split = split or Split.of(graph)
    settings = {**graph.settings, **model.settings, **asdict(training)}
    if folder is not None and not resume:
        folder.create(settings, graph, split)
    accelerator.wait_for_everyone()
    task = LinkPrediction(graph.to(accelerator.device), split)
    watches = Several(watch or Watch(), tensorboard(folder.path) if folder is not None else Watch())
    run = _Run(model.to(accelerator.device), task, training, accelerator, folder, watches)
    progress = run.train(RunFolder(out).checkpoint if out is not None and resume else None)
    report = run.report(progress, settings)
    if folder is not None:
        report.write(folder.report)
        folder.checkpoint.unlink(missing_ok=True)
    watches.close()
    accelerator.wait_for_everyone()
    return report


def train(
    model: LinkModel,
    graph: TemporalGraph,
    training: Training,
    *,
    split: Split | None = None,
    watch: Watch | None = None,
) -> Progress:
    """Trains a model and leaves it at that: nothing is tested or written; the selections hold each criterion's best."""
    accelerator = accelerator_for(training.device, training.precision)
    task = LinkPrediction(graph.to(accelerator.device), split or Split.of(graph))
    return _Run(model.to(accelerator.device), task, training, accelerator, None, watch or Watch()).train(None)


class _Run:
    """What one call of `fit` shares among its steps."""

    def __init__(
        self,
        model: LinkModel,
        task: LinkPrediction,
        training: Training,
        accelerator: Accelerator,
        folder: RunFolder | None,
        watch: Watch,
    ) -> None:
        self.model, self.task, self.training = model, task, training
        self.accelerator, self.folder, self.watch = accelerator, folder, watch

    def train(self, checkpoint: Path | None) -> Progress:
        """Epochs until every criterion has its best."""
        self.model.prepare(self.task.train, self.task.train_history)
        learnt = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        progress = Progress([Selection(criterion) for criterion in self.training.criteria])
        if not learnt:
            return progress
        optimizer = torch.optim.Adam(learnt, lr=self.training.learning_rate)
        if checkpoint is not None and checkpoint.exists():
            progress = load_checkpoint(checkpoint, self.model, optimizer)
        stepper = self.accelerator.prepare(optimizer)
        while progress.epoch < self.training.epochs and not progress.over:
            self._epoch(progress, stepper)
            if self.folder is not None:
                save_checkpoint(self.folder.checkpoint, self.model, optimizer, progress)
                self.folder.record(progress.records)
            self.watch.epoch(progress.records[-1])
        return progress

    def _epoch(self, progress: Progress, optimizer: torch.optim.Optimizer) -> None:
        """One pass over the training events and one over the validation events."""
        training, number = self.training, progress.epoch + 1
        questions = self.task.training_questions(training.seed, number)
        learner = Learner(optimizer, training.seed, number)
        self.watch.stage(f"epoch {number}/{training.epochs}", len(questions.events))
        begun = time.perf_counter()
        _, loss = run_epoch(
            self.model,
            questions,
            self.task.train_history,
            self.accelerator,
            training.batch_size,
            learner=learner,
            advance=self.watch.advance,
        )
        record: Record = {"epoch": number, "loss": loss, "validation": {}, "seconds": time.perf_counter() - begun}
        judged = [selection for selection in progress.selections if not selection.over]
        criteria = [selection.criterion for selection in judged]
        self.watch.stage(f"epoch {number}/{training.epochs} validation", len(self.task.part("validation")))
        found = evaluate(self.model, self.task, "validation", criteria, self.accelerator, advance=self.watch.advance)
        for selection in judged:
            verdict = found[selection.criterion].all
            record["validation"][selection.criterion] = verdict
            selection.consider(self.model, number, verdict["ap"], training.patience, training.min_epochs)
        progress.records.append(record)

    def report(self, progress: Progress, settings: dict[str, Any]) -> Report:
        """Tests the best epoch by each criterion."""
        selected: dict[str, Any] = {selection.criterion: self._test(selection) for selection in progress.selections}
        first = self.training.criteria[0]
        if self.folder is not None:
            self.folder.keep(progress.selections[0].weights or self.model.state_dict())
            self.folder.record(progress.records)
        graph, split = self.task.graph, self.task.split
        sizes = {"train": len(self.task.train), "validation": len(self.task.part("validation"))}
        return Report(
            settings=settings,
            seed=self.training.seed,
            versions=versions(),
            data={
                "name": graph.name,
                "digest": graph.digest(),
                "nodes": graph.num_nodes,
                "events": len(graph.events),
            },
            split={"digest": split.digest(), **sizes, "test": len(self.task.part("test"))},
            parameters=sum(parameter.numel() for parameter in self.model.parameters()),
            epochs=[{key: value for key, value in record.items() if key != "seconds"} for record in progress.records],
            selected=selected,
            test=selected[first]["test"],
            cost=_cost(progress.records, self.accelerator),
            calibration=selected[first]["calibration"],
        )

    def _test(self, selection: Selection) -> dict[str, Any]:
        """What a criterion selected, its calibration and its test."""
        if selection.weights:
            self.model.load_state_dict(selection.weights)
        asked = (self.model, self.task, self.accelerator)
        fitted = calibrate(*asked, self.watch)
        found = verdicts(*asked, candidates=self.training.candidates, watch=self.watch, calibration=fitted)
        if self.folder is not None and len(self.training.criteria) > 1:
            self.folder.keep(self.model.state_dict(), selection.criterion)
        return {
            "epoch": selection.epoch,
            "validation_ap": selection.ap,
            "test": summary(found),
            "calibration": {**asdict(fitted), "reliability": reliabilities(found)},
        }


def _cost(records: list[Record], accelerator: Accelerator) -> dict[str, Any]:
    """Seconds an epoch and the peak of the process's memory in bytes (of the GPU's where one is used)."""
    seconds = [record["seconds"] for record in records]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if accelerator.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated()
    return {
        "seconds_an_epoch": sum(seconds) / len(seconds) if seconds else 0.0,
        "seconds": seconds,
        "peak_memory": peak,
        "processes": accelerator.num_processes,
        "device": accelerator.device.type,
        "threads": torch.get_num_threads(),
    }
