"""Tests of a trained model"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from accelerate import Accelerator

from ..model import LinkModel
from ..negatives import NegativesName
from ..tasks.link_prediction import LinkPrediction, Part, Verdict
from .epoch import Advance, quietly, run_epoch
from .watch import Watch

ASKED_AT_ONCE = 4096  # questions; bounds memory where every event has many candidates


def evaluate(
    model: LinkModel,
    task: LinkPrediction,
    part: Part,
    negatives: NegativesName,
    accelerator: Accelerator,
    batch_size: int | None = None,
    advance: Advance = quietly,
) -> Verdict:
    """Metrics under one kind of negatives; `batch_size`, the events asked about at once, changes none of them."""
    questions = task.questions(part, negatives)
    scores, _ = run_epoch(model, questions, task.history, accelerator, ask_at_once=batch_size, advance=advance)
    return task.judge(part, scores)


def evaluate_candidates(
    model: LinkModel, task: LinkPrediction, part: Part, each: int, accelerator: Accelerator, advance: Advance = quietly
) -> Verdict:
    """MRR and Hits@10 among `each` random candidates an event."""
    at_once = max(1, ASKED_AT_ONCE // (1 + each))
    questions = task.candidates(part, each)
    scores, _ = run_epoch(model, questions, task.history, accelerator, ask_at_once=at_once, advance=advance)
    return task.judge(part, scores)


def verdicts(
    model: LinkModel,
    task: LinkPrediction,
    accelerator: Accelerator,
    part: Part = "test",
    negatives: Sequence[NegativesName] = get_args(NegativesName),
    candidates: int = 0,
    batch_size: int | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """By kind of negatives, over all events and (`unseen`) over those that touch an unseen node.

    MRR and Hits@10 stand among the random ones, as their candidates are random.
    """
    watch = watch or Watch()
    found: dict[str, Any] = {"unseen": {}}
    for kind in negatives:
        watch.stage(f"{part}, {kind} negatives", len(task.part(part)))
        verdict = evaluate(model, task, part, kind, accelerator, batch_size, watch.advance)
        found[kind], found["unseen"][kind] = verdict.all, verdict.unseen
    if candidates:
        watch.stage(f"{part}, {candidates} candidates", len(task.part(part)))
        verdict = evaluate_candidates(model, task, part, candidates, accelerator, watch.advance)
        found["random"] = found.get("random", {}) | verdict.all
        if verdict.unseen is not None:
            found["unseen"]["random"] = found["unseen"].get("random", {}) | verdict.unseen
    return found
