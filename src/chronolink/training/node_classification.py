"""Links first, then a head on states"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ..allocator import give_back
from ..errors import ChronolinkError
from ..events import TemporalGraph
from ..model import LinkModel, PairModel
from ..negatives import BLOCK
from ..query import LinkQuery
from ..report import Report
from ..run import RunFolder
from ..split import Split
from ..tasks.node_classification import NODE_CLASSIFICATION, NodeClassification
from .epoch import KEPT_STEPS, Advance, quietly
from .fit import fit
from .head import HeadTraining, answers, keep_head, train_head
from .options import Training
from .processes import accelerator_for
from .watch import Several, Watch


def classify_nodes(
    model: LinkModel,
    graph: TemporalGraph,
    training: Training | None = None,
    head: HeadTraining | None = None,
    *,
    out: Path | str | None = None,
    split: Split | None = None,
    watch: Watch | None = None,
    resume: bool = False,
) -> Report:
    """Trains a model on links, then, with the model frozen, a head on the states of the events' sources.

    The report is that of the links, and besides `test["node-classification"]` has the head's auc, ap, events and
    positives (events in state 1), `selected["node-classification"]` its epoch, validation_auc and epochs, and `cost`
    the embedding_seconds and head_seconds. With `out` the weights of the model are kept as ever, those of the head in
    head.safetensors. A run that was killed goes on with `resume`: the links from their last whole epoch, the head from
    its beginning.
    """
    training, head, split = training or Training(), head or HeadTraining(), split or Split.of(graph)
    embedder = _embedder(model, training)
    NodeClassification(graph, split)  # refuses labels that will not do before hours go into the links
    settings = {**graph.settings, **model.settings, **asdict(training)}
    settings |= {"task": NODE_CLASSIFICATION, "head": asdict(head)}
    folder, watch = RunFolder(out) if out is not None else None, watch or Watch()
    if folder is not None and not resume and accelerator_for(training.device).is_main_process:
        folder.create(settings, graph, split)
    report = _links(embedder, graph, training, folder, split, _Lent(watch))
    if not is_finished(report, settings):
        stage = _HeadStage(embedder, graph, split, training, watch)
        report = stage.run(head, report, settings, folder)
    watch.close()
    return report


def is_finished(report: Report, settings: dict[str, Any]) -> bool:
    """Whether it is the report of the whole task; where nodes are classified, that of the links stands in till then."""
    return report.settings.get("task") == settings.get("task")


def _links(
    model: PairModel, graph: TemporalGraph, training: Training, folder: RunFolder | None, split: Split, watch: Watch
) -> Report:
    """The report of the links, and their weights in the model; what is done is not done again."""
    if folder is None:
        return fit(model, graph, training, split=split, watch=watch)
    if not folder.report.exists():
        return fit(model, graph, training, out=folder.path, split=split, watch=watch, resume=True)
    folder.load_weights(model)
    return Report.read(folder.report)


class _HeadStage:
    """What follows when the links are learnt."""

    def __init__(self, model: PairModel, graph: TemporalGraph, split: Split, training: Training, watch: Watch) -> None:
        self.accelerator = accelerator_for(training.device, training.precision)
        self.model = model.to(self.accelerator.device)
        self.task = NodeClassification(graph.to(self.accelerator.device), split)
        self.seed, self.watch = training.seed, watch

    def run(self, options: HeadTraining, links: Report, settings: dict[str, Any], folder: RunFolder | None) -> Report:
        times, task = [time.perf_counter()], self.task
        self.watch.stage("embeddings", len(task.state))
        rows = embed_sources(self.model, task, self.accelerator, self.watch.advance)
        times.append(time.perf_counter())
        self.watch.stage("head", options.epochs * task.part("train").stop)
        found = train_head(rows, task, options, self.seed, self.watch.advance)
        times.append(time.perf_counter())
        test = task.judge("test", answers(found.head, rows, task.part("test")))
        chosen = {"epoch": found.epoch, "validation_auc": found.auc, "epochs": found.epochs}
        report = replace(
            links,
            settings=settings,
            selected={**links.selected, NODE_CLASSIFICATION: {**chosen, "test": {NODE_CLASSIFICATION: test}}},
            test={**links.test, NODE_CLASSIFICATION: test},
            cost={**links.cost, "embedding_seconds": times[1] - times[0], "head_seconds": times[2] - times[1]},
        )
        if folder is not None and self.accelerator.is_main_process:
            keep_head(found.head, folder.path)
            report.write(folder.report)
        self.accelerator.wait_for_everyone()
        return report


@torch.no_grad()
def embed_sources(
    model: PairModel, task: NodeClassification, accelerator: Accelerator, advance: Advance = quietly
) -> Tensor:
    """Every event's source as the model sees it just before the event, beside its destination: [events, width].

    In time order, each block observed after it was asked about. Every process embeds all of them.
    """
    events, history = task.graph.events, task.history
    rows: list[Tensor] = []
    model.eval()
    model.reset()
    for number, start in enumerate(range(0, len(events), BLOCK)):
        block = events[start : start + BLOCK]
        with accelerator.autocast():
            source, _ = model.embeddings(LinkQuery.of(block), history)
        rows.append(source.float())
        model.observe(block, history)
        if number % KEPT_STEPS == KEPT_STEPS - 1:
            give_back()
        advance(len(block), 0.0)
    return torch.cat(rows)


def _embedder(model: LinkModel, training: Training) -> PairModel:
    if not isinstance(model, PairModel):
        raise ChronolinkError(
            f"{type(model).__name__} embeds no nodes, so it cannot classify any; take a model that learns, such as tgat"
        )
    if len(training.criteria) > 1:
        raise ChronolinkError(
            f"select_by is {training.select_by}; nodes are classified with one model, so give one kind of negatives"
        )
    return model


class _Lent(Several):
    """Passes everything on but the end, as more is to come."""

    def close(self) -> None:
        pass
