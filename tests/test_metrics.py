"""Metrics agree with scikit-learn and with their definitions as loops"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from chronolink.metrics import Floats, ranking, reciprocal_ranks


def scores(events: int, seed: int = 0, levels: int | None = None) -> tuple[Floats, Floats]:
    """Of events and of their negatives; few levels make many ties."""
    random = np.random.default_rng(seed)
    positive, negative = random.normal(0.7, 1, events), random.normal(0, 1, events)
    if levels is None:
        return positive, negative
    return np.round(positive * levels) / levels, np.round(negative * levels) / levels


def labelled(positive: Floats, negative: Floats) -> tuple[list[int], list[float]]:
    return [1] * len(positive) + [0] * len(negative), [*positive.tolist(), *negative.tolist()]


def slow_ap(positive: Floats, negative: Floats) -> float:
    """The sum over all thresholds of precision times the gain in recall."""
    total, recall = 0.0, 0.0
    for threshold in sorted({*positive.tolist(), *negative.tolist()}, reverse=True):
        found, wrong = int((positive >= threshold).sum()), int((negative >= threshold).sum())
        total += (found / len(positive) - recall) * found / (found + wrong)
        recall = found / len(positive)
    return total


def slow_auc(positive: Floats, negative: Floats) -> float:
    """How often an event's score is above a negative's; ties count half."""
    return float(np.mean([(one > other) + 0.5 * (one == other) for one in positive for other in negative]))


@pytest.mark.parametrize("events", [1, 2, 150, 450])
@pytest.mark.parametrize("levels", [None, 1, 3])
def test_ap_and_auc_over_all_scores_equal_their_definitions(events: int, levels: int | None) -> None:
    positive, negative = scores(events, seed=events, levels=levels)
    found = ranking(positive, negative)
    assert found["ap"] == pytest.approx(slow_ap(positive, negative), abs=1e-12)
    assert found["auc"] == pytest.approx(slow_auc(positive, negative), abs=1e-12)
    assert found["events"] == events


@pytest.mark.parametrize("levels", [None, 2])
def test_ap_and_auc_agree_with_scikit_learn(levels: int | None) -> None:
    positive, negative = scores(2_345, levels=levels)
    found = ranking(positive, negative)
    assert found["ap"] == average_precision_score(*labelled(positive, negative))
    assert found["auc"] == roc_auc_score(*labelled(positive, negative))


@pytest.mark.parametrize("events", [1, 199, 200, 201, 400, 730])
@pytest.mark.parametrize("levels", [None, 2])
def test_ap_batch_is_the_mean_over_blocks_of_200(events: int, levels: int | None) -> None:
    positive, negative = scores(events, levels=levels)
    blocks = [
        average_precision_score(*labelled(positive[start : start + 200], negative[start : start + 200]))
        for start in range(0, events, 200)
    ]
    assert ranking(positive, negative)["ap_batch"] == pytest.approx(sum(blocks) / len(blocks), abs=1e-12)


def test_one_ap_over_all_scores_is_not_the_mean_over_blocks() -> None:
    positive, negative = scores(400)
    positive[200:] += 100
    negative[200:] += 100
    found = ranking(positive, negative)
    assert found["ap"] < found["ap_batch"] - 0.05


def test_scores_that_are_all_equal_say_nothing() -> None:
    found = ranking(np.zeros(250), np.zeros(250))
    assert found == {"ap": 0.5, "auc": 0.5, "ap_batch": 0.5, "events": 250}


def test_perfect_and_reversed_scores_are_the_extremes() -> None:
    low, high = np.arange(300.0), np.arange(300.0) + 1000
    assert ranking(high, low) == {"ap": 1.0, "auc": 1.0, "ap_batch": 1.0, "events": 300}
    assert ranking(low, high)["auc"] == 0.0


def test_float32_scores_are_taken() -> None:
    positive, negative = scores(300, levels=4)
    assert ranking(positive.astype(np.float32), negative.astype(np.float32)) == ranking(positive, negative)


@pytest.mark.parametrize("levels", [None, 1, 4])
@pytest.mark.parametrize("candidates", [1, 9, 10, 50])
def test_mrr_and_hits_equal_a_loop(levels: int | None, candidates: int) -> None:
    positive, others = scores(60 * candidates, seed=3, levels=levels)
    positive, others = positive[:60], others.reshape(60, candidates)
    total, hits = 0.0, 0
    for one, row in zip(positive.tolist(), others.tolist(), strict=True):
        above, level = sum(other > one for other in row), sum(other == one for other in row)
        rank = 1 + above + level / 2
        total += 1 / rank
        hits += rank <= 10
    found = reciprocal_ranks(positive, others)
    assert found["mrr"] == pytest.approx(total / 60, abs=1e-12)
    assert found["hits@10"] == pytest.approx(hits / 60, abs=1e-12)


def test_a_constant_score_gains_nothing_from_ties() -> None:
    found = reciprocal_ranks(np.zeros(5), np.zeros((5, 100)))
    assert found == {"mrr": pytest.approx(1 / 51), "hits@10": 0.0, "events": 5}


def test_the_first_and_the_tenth_place_are_hits_and_the_eleventh_is_none() -> None:
    others = np.tile(np.arange(20.0), (3, 1))
    assert reciprocal_ranks(np.array([19.5, 10.5, 9.5]), others)["hits@10"] == pytest.approx(2 / 3)
