"""One GraphMixer training step on UCI against the padded way"""

from __future__ import annotations

from tests.twins.graphmixer import PaddedGraphmixer

from _side_by_side import compare

TARGETS = {"linear": 10, "fixed-cosine": 10}

if __name__ == "__main__":
    compare(__file__, "graphmixer", PaddedGraphmixer, TARGETS, ours_a_round=5)
