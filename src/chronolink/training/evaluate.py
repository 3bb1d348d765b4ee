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
    negatives: NegativesName,
    accelerator: Accelerator,
    batch_size: int | None = None,
    advance: Advance = quietly,
) -> Verdict:
    """Metrics under one kind of negatives; `batch_size`, the events asked about at once, changes none of them."""
    return task.judge(part, _scores(model, task, part, negatives, accelerator, batch_size, advance))


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
    scores = _scores(model, task, "validation", "random", accelerator, advance=watch.advance)
    return fit_calibration(*scores.arrays)


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

    MRR and Hits@10 stand among the random ones, as their candidates are random.
    """
    watch = watch or Watch()
    found: dict[str, Verdict] = {}
    for kind in negatives:
        watch.stage(f"{part}, {kind} negatives", len(task.part(part)))
        scores = _scores(model, task, part, kind, accelerator, batch_size, watch.advance)
        found[kind] = task.judge(part, scores) | task.trust(part, scores, calibration)
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
    negatives: NegativesName,
    accelerator: Accelerator,
    batch_size: int | None = None,
    advance: Advance = quietly,
) -> Scores:
    questions, at_once = task.questions(part, negatives), batch_size or model.at_once
    observed = BLOCK if model.remembers else at_once
    scores, _ = run_epoch(model, questions, task.history, accelerator, observed, at_once, advance=advance)
    return scores
