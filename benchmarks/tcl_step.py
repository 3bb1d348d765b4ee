"""One TCL training step on UCI against the padded way"""

from __future__ import annotations

from tests.twins.tcl import PaddedTcl

from _side_by_side import compare

TARGETS = {"linear": 4, "cosine": 4}

if __name__ == "__main__":
    compare(__file__, "tcl", PaddedTcl, TARGETS, ours_a_round=5)
