"""Calibrations are the most likely ones, and probabilities stay probabilities"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from accelerate import Accelerator
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.metrics import brier_score_loss

from chronolink import Split
from chronolink.calibration import BINS, Calibration, fit_calibration, reliability
from chronolink.metrics import trust
from chronolink.tasks.link_prediction import LinkPrediction
from chronolink.training.evaluate import calibrate, summary, verdicts
from tests.test_fit import learnable, quick

Array = NDArray[np.float64]
BEFORE = ("brier_before", "ece_before")


def calibrated(questions: int = 4_000, seed: int = 0, spread: float = 2.0) -> tuple[Array, Array]:
    """Scores of links that happened and of links that did not, each drawn with just the odds that its score says."""
    random = np.random.default_rng(seed)
    scores = random.normal(0, spread, questions)
    happened = random.random(questions) < 1 / (1 + np.exp(-scores))
    return scores[happened], scores[~happened]


def slow_loss(positive: Array, negative: Array, calibration: Calibration) -> float:
    """The negative log likelihood, summed one by one."""
    right = [*(positive - calibration.offset).tolist(), *(calibration.offset - negative).tolist()]
    logits = [margin / calibration.temperature for margin in right]
    return sum(max(-logit, 0.0) + math.log1p(math.exp(-abs(logit))) for logit in logits)


def slow_bins(positive: Array, negative: Array, calibration: Calibration) -> list[list[tuple[float, int]]]:
    """What was said and what happened, by bin."""
    bins: list[list[tuple[float, int]]] = [[] for _ in range(BINS)]
    for scores, happened in ((positive, 1), (negative, 0)):
        for score in scores.tolist():
            said = 1 / (1 + math.exp(-(score - calibration.offset) / calibration.temperature))
            bins[min(math.floor(said * BINS), BINS - 1)].append((said, happened))
    return bins


@pytest.mark.parametrize("factor", [0.02, 0.5, 1.0, 7.0, 4e4])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_temperature_and_offset_are_where_scipy_finds_the_least_loss(seed: int, shift: float, factor: float) -> None:
    positive, negative = (factor * (scores + shift) for scores in calibrated(500, seed))
    found = minimize(
        lambda at: slow_loss(positive, negative, Calibration(factor * math.exp(at[0]), factor * (shift + at[1]))),
        [0.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12},
    )
    fitted = fit_calibration(positive, negative)
    assert fitted.note is None
    assert fitted.temperature == pytest.approx(factor * math.exp(found.x[0]), rel=1e-6)
    assert fitted.offset == pytest.approx(factor * (shift + found.x[1]), rel=1e-6, abs=1e-6 * factor)


def test_no_calibration_nearby_is_more_likely() -> None:
    for seed, levels in enumerate((1, 2, 5, 40)):  # few levels make many ties
        positive, negative = (np.round(levels * scores) / levels for scores in calibrated(200, seed))
        fitted = fit_calibration(positive, negative)
        best = slow_loss(positive, negative, fitted)
        for step in range(-200, 200):
            warmer = replace(fitted, temperature=fitted.temperature * 1.01**step)
            aside = replace(fitted, offset=fitted.offset + 0.02 * step)
            assert best <= min(slow_loss(positive, negative, warmer), slow_loss(positive, negative, aside)) + 1e-9


def test_scores_that_are_log_odds_stay_nearly_as_they_are() -> None:
    found = fit_calibration(*calibrated(40_000))
    assert (found.temperature, found.offset) == (pytest.approx(1.0, abs=0.03), pytest.approx(0.0, abs=0.05))


@pytest.mark.parametrize("factor", [3.0, 1e-30, 1e30])
def test_larger_scores_have_a_larger_temperature_and_the_same_probabilities(factor: float) -> None:
    positive, negative = calibrated()
    once, thrice = fit_calibration(positive, negative), fit_calibration(factor * positive, factor * negative)
    assert thrice.temperature == pytest.approx(factor * once.temperature, rel=1e-6)
    np.testing.assert_allclose(thrice.probability(factor * positive), once.probability(positive), rtol=1e-6)


def test_the_order_of_the_questions_and_their_precision_change_nothing() -> None:
    positive, negative = (scores.astype(np.float32) for scores in calibrated())
    found = fit_calibration(positive, negative)
    assert fit_calibration(positive, negative) == found
    assert fit_calibration(positive[::-1], negative[::-1, None]).temperature == pytest.approx(
        found.temperature, rel=1e-9
    )
    assert fit_calibration(positive.astype(float), negative.astype(float)) == found


def test_probabilities_never_overflow_and_never_fall_with_the_score() -> None:
    scores = np.array([-np.inf, -3e38, -1e4, -40.0, -1.0, 0.0, 1.0, 40.0, 1e4, 3e38, np.inf])
    with np.errstate(all="raise", under="ignore"):
        for temperature in (1e-30, 1.0, 1e30):
            found = Calibration(temperature).probability(scores)
            assert (np.diff(found) >= 0).all()
            assert (found[0], found[5], found[-1]) == (0.0, 0.5, 1.0)
    assert Calibration().probability(np.array([-40.0]))[0] == pytest.approx(math.exp(-40.0), rel=1e-12)
    assert Calibration(2.0, 3.0).probability(np.array([3.0]))[0] == 0.5


def test_one_extreme_score_among_many_does_not_spoil_the_search() -> None:
    positive, negative = calibrated(500)
    plain = fit_calibration(positive, negative)
    for extreme in (1e30, 3e38):
        found = fit_calibration(np.append(positive, extreme), negative)
        assert found.temperature == pytest.approx(plain.temperature, rel=1e-6)
        assert found.offset == pytest.approx(plain.offset, rel=1e-6)


@pytest.mark.parametrize(
    ("positive", "negative", "words"),
    [
        ([1.0] * 9, [-1.0] * 9, "9 validation events are too few"),
        ([1.0, np.inf] * 9, [-1.0, 0.5] * 9, "not all validation scores are finite"),
        ([1.0, np.nan] * 9, [-1.0, 0.5] * 9, "not all validation scores are finite"),
    ],
)
def test_scores_that_cannot_be_mended_are_taken_for_log_odds_and_it_is_said_why(
    positive: list[float], negative: list[float], words: str
) -> None:
    found = fit_calibration(np.array(positive), np.array(negative))
    assert (found.temperature, found.offset) == (1.0, 0.0)
    assert words in str(found.note)


def test_scores_that_are_all_equal_are_even_odds() -> None:
    found = fit_calibration(np.full(30, 7.0), np.full(30, 7.0))
    assert found.probability(np.array([7.0]))[0] == 0.5
    assert "equal" in str(found.note)


def test_scores_on_one_side_of_zero_are_mended_by_the_offset() -> None:
    positive, negative = np.repeat([0.9, 0.1], [80, 20]), np.repeat([0.9, 0.1], [10, 90])
    said = fit_calibration(positive, negative).probability(np.array([0.9, 0.1]))
    np.testing.assert_allclose(said, [80 / 90, 20 / 110], rtol=1e-6)


def test_a_validation_without_a_mistake_promises_no_certainty() -> None:
    found = fit_calibration(np.full(49, 5.0), np.full(50, 1.0))
    assert found.offset == 3.0
    assert found.probability(np.array([5.0]))[0] == pytest.approx(100 / 101)
    assert "no validation score is on the wrong side" in str(found.note)


def test_scores_that_tell_nothing_become_even_odds() -> None:
    found = fit_calibration(np.tile([-5.0, 1.0], 9), np.tile([5.0, -1.0], 9))
    np.testing.assert_allclose(found.probability(np.array([-5.0, 5.0])), 0.5, atol=1e-6)
    assert "tell nothing" in str(found.note)
    reversed_ = fit_calibration(np.tile([-5.0, -1.0], 9), np.tile([5.0, 1.0], 9))
    np.testing.assert_allclose(reversed_.probability(np.array([-5.0, 5.0])), 0.5, atol=1e-6)


@pytest.mark.parametrize("calibration", [Calibration(0.3), Calibration(), Calibration(4.0, -1.5)])
@pytest.mark.parametrize("levels", [None, 1, 4])
def test_brier_ece_and_bins_equal_a_loop(levels: int | None, calibration: Calibration) -> None:
    positive, negative = calibrated(600, spread=3.0)
    if levels:
        positive, negative = np.round(levels * positive) / levels, np.round(levels * negative) / levels
    bins = slow_bins(positive, negative, calibration)
    rows = [row for inside in bins for row in inside]
    apart = [abs(sum(said - came for said, came in inside)) for inside in bins]
    found, drawn = trust(positive, negative, calibration), reliability(positive, negative, calibration)
    assert found["brier"] == pytest.approx(sum((said - came) ** 2 for said, came in rows) / len(rows), abs=1e-12)
    assert found["ece"] == pytest.approx(sum(apart) / len(rows), abs=1e-12)
    assert drawn.count == [len(inside) for inside in bins]
    for said, came, inside in zip(drawn.probability, drawn.happened, bins, strict=True):
        wanted = [sum(column) / len(inside) for column in zip(*inside, strict=True)] if inside else [None, None]
        assert [said, came] == pytest.approx(wanted, abs=1e-12)


def test_brier_agrees_with_scikit_learn_and_before_is_without_calibration() -> None:
    positive, negative = calibrated()
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    warm = Calibration(2.0, 0.5)
    found = trust(positive, negative, warm)
    said = warm.probability(np.concatenate([positive, negative]))
    assert found["brier"] == pytest.approx(brier_score_loss(labels, said), abs=1e-12)
    assert [found[name] for name in BEFORE] == [
        trust(positive, negative, Calibration())[name] for name in ("brier", "ece")
    ]


def test_certain_answers_are_judged_too() -> None:
    right, wrong = np.full(5, 3e38), np.full(5, -3e38)
    sure = Calibration(1e-9)
    assert trust(right, wrong, sure) == {"brier": 0.0, "ece": 0.0, "brier_before": 0.0, "ece_before": 0.0}
    assert reliability(right, wrong, sure).count == [5, *[0] * (BINS - 2), 5]
    assert trust(wrong, right, sure) == {"brier": 1.0, "ece": 1.0, "brier_before": 1.0, "ece_before": 1.0}


@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_calibration_mends_scores_that_are_too_sure_or_aside(shift: float) -> None:
    positive, negative = (3 * scores + shift for scores in calibrated(20_000))
    found = trust(positive, negative, fit_calibration(positive, negative))
    assert found["ece"] < 0.02 < 0.1 < found["ece_before"]
    assert found["brier"] < found["brier_before"]


def test_calibration_is_of_validation_and_leaves_the_ranking_alone() -> None:
    graph = learnable()
    model, task, alone = quick(graph), LinkPrediction(graph, Split.of(graph)), Accelerator(cpu=True)
    model.prepare(task.train, task.train_history)
    asked: list[tuple[str, list[str]]] = []
    task.questions = _noting(task.questions, asked)  # type: ignore[method-assign]
    calibrate(model, task, alone)
    assert asked == [("validation", ["random"])]
    ways = (Calibration(), Calibration(0.01, 0.3))
    plain, other = (summary(verdicts(model, task, alone, calibration=way, candidates=9)) for way in ways)
    for kind in ("random", "historical", "inductive"):
        for metric in ("ap", "auc", "ap_batch", "events", "mrr", "hits@10", *BEFORE):
            assert plain[kind].get(metric) == other[kind].get(metric)
        assert plain[kind]["brier"] != other[kind]["brier"]
        assert plain[kind]["brier"] == plain[kind]["brier_before"]


def _noting(questions: Callable[..., Any], asked: list[tuple[str, list[str]]]) -> Callable[..., Any]:
    def note(part: str, negatives: list[str]) -> Any:
        asked.append((part, negatives))
        return questions(part, negatives)

    return note
