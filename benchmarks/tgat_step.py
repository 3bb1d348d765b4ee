"""One TGAT training step on UCI against the paper's padded way"""

from __future__ import annotations

from tests.twins.tgat import PaddedTgat

from _side_by_side import compare

TARGETS = {"linear": 50, "cosine": 25}  # the target of memory is a share of 0.25

if __name__ == "__main__":
    compare(__file__, "tgat", PaddedTgat, TARGETS, ours_a_round=15)
