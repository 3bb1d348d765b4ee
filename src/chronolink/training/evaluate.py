"""Tests of a trained model"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from accelerate import Accelerator

from ..calibration import UNCALIBRATED, Calibration, fit_calibration
from ..model import LinkModel
from ..negatives import BLOCK, NegativesName
from ..tasks.link_prediction import LinkPrediction, Part, Scores, Verdict
from .epoch import Advance, quietly, run_epoch
from .watch import Watch

ASKED_AT_ONCE = 4096  # questions; bounds memory where every event has many candidates


def evaluate(
    model: LinkModel,
    task: LinkPrediction,
    part: Part,
    negatives: Sequence[NegativesName],
    accelerator: Accelerator,
    advance: Advance = quietly,
) -> dict[str, Verdict]:
    """Metrics by kind of negatives."""
    found = _scores(model, task, part, negatives, accelerator, advance=advance)
    return {kind: task.judge(part, scores) for kind, scores in found.items()}


def evaluate_candidates(
    model: LinkModel, task: LinkPrediction, part: Part, each: int, accelerator: Accelerator, advance: Advance = quietly
) -> Verdict:
    """MRR and Hits@10 among `each` random candidates an event."""
    at_once = max(1, ASKED_AT_ONCE // (1 + each))
    questions = task.candidates(part, each)
    scores, _ = run_epoch(model, questions, task.history, accelerator, ask_at_once=at_once, advance=advance)
    return task.judge(part, scores)


def calibrate(
    model: LinkModel, task: LinkPrediction, accelerator: Accelerator, watch: Watch | None = None
) -> Calibration:
    """What fits the validation events and one random negative each."""
    watch = watch or Watch()
    watch.stage("calibration", len(task.part("validation")))
    found = _scores(model, task, "validation", ["random"], accelerator, advance=watch.advance)
    return fit_calibration(*found["random"].arrays)


def verdicts(
    model: LinkModel,
    task: LinkPrediction,
    accelerator: Accelerator,
    part: Part = "test",
    negatives: Sequence[NegativesName] = get_args(NegativesName),
    candidates: int = 0,
    batch_size: int | None = None,
    watch: Watch | None = None,
    calibration: Calibration = UNCALIBRATED,
) -> dict[str, Verdict]:
    """By kind of negatives, the trust in the calibrated probabilities included.

    `batch_size`, the events asked about at once, changes no answer.
    MRR and Hits@10 stand among the random ones, as their candidates are random.
    """
    watch = watch or Watch()
    watch.stage(f"{part}, {', '.join(negatives)} negatives", len(task.part(part)))
    scores = _scores(model, task, part, negatives, accelerator, batch_size, watch.advance)
    found = {kind: task.judge(part, of) | task.trust(part, of, calibration) for kind, of in scores.items()}
    if candidates:
        watch.stage(f"{part}, {candidates} candidates", len(task.part(part)))
        ranked = evaluate_candidates(model, task, part, candidates, accelerator, watch.advance)
        found["random"] = found["random"] | ranked if "random" in found else ranked
    return found


def summary(found: Mapping[str, Verdict]) -> dict[str, Any]:
    """The metrics alone: by kind of negatives, and below `unseen` again over events that touch an unseen node."""
    unseen = {kind: verdict.unseen for kind, verdict in found.items()}
    return {"unseen": unseen, **{kind: verdict.all for kind, verdict in found.items()}}


def reliabilities(found: Mapping[str, Verdict]) -> dict[str, Any]:
    """The bins alone: by kind of negatives, before and after calibration."""
    return {kind: {when: asdict(bins) for when, bins in verdict.reliability.items()} for kind, verdict in found.items()}


def _scores(
    model: LinkModel,
    task: LinkPrediction,
    part: Part,
    negatives: Sequence[NegativesName],
    accelerator: Accelerator,
    batch_size: int | None = None,
    advance: Advance = quietly,
) -> dict[str, Scores]:
    """By kind of negatives, all asked in one pass: the events themselves are scored once, and memories filled once."""
    questions = task.questions(part, negatives)
    at_once = batch_size or max(1, 2 * model.at_once // (1 + questions.each))  # as many questions, however many kinds
    observed = BLOCK if model.remembers else at_once
    scores, _ = run_epoch(model, questions, task.history, accelerator, observed, at_once, advance=advance)
    return {kind: scores.of(column) for column, kind in enumerate(negatives)}
