"""Scores to numbers"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .calibration import UNCALIBRATED, Calibration, labelled, reliability
from .negatives import BLOCK

Floats = NDArray[np.floating]


def ranking(positive: Floats, negative: Floats) -> dict[str, float]:
    """AP and AUC over all scores at once, and the mean AP of blocks of 200 events, as DyGLib reports it."""
    cuts = [slice(start, start + BLOCK) for start in range(0, len(positive), BLOCK)]
    by_block = [average_precision(*labelled(positive[cut], negative[cut])) for cut in cuts]
    whole = labelled(positive, negative)
    return {
        "ap": average_precision(*whole),
        "auc": area_under_curve(*whole),
        "ap_batch": float(np.mean(by_block)),
        "events": len(positive),
    }


def reciprocal_ranks(positive: Floats, candidates: Floats) -> dict[str, float]:
    """MRR and Hits@10 of each event's score among its candidates' [events, candidates]; ties count half."""
    own = positive[:, None]
    rank = 1 + (candidates > own).sum(1) + 0.5 * (candidates == own).sum(1)
    return {"mrr": float((1 / rank).mean()), "hits@10": float((rank <= 10).mean()), "events": len(positive)}


def trust(positive: Floats, negative: Floats, calibration: Calibration) -> dict[str, float]:
    """Brier score and expected calibration error of the calibrated probabilities; before, of sigmoid(score)."""
    return {
        "brier": _brier(positive, negative, calibration),
        "ece": reliability(positive, negative, calibration).error,
        "brier_before": _brier(positive, negative, UNCALIBRATED),
        "ece_before": reliability(positive, negative, UNCALIBRATED).error,
    }


def _brier(positive: Floats, negative: Floats, calibration: Calibration) -> float:
    """The mean square between what was said and what happened."""
    happened, scores = labelled(positive, negative)
    return float(((calibration.probability(scores) - happened) ** 2).mean())


# scikit-learn takes as long to import as torch, and most commands judge nothing
def average_precision(happened: NDArray[np.int64], scores: Floats) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(happened, scores))


def area_under_curve(happened: NDArray[np.int64], scores: Floats) -> float:
    """Of the receiver operating characteristic."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(happened, scores))
