"""Beyond pure self-attention: TGN and CAWN"""

from __future__ import annotations

from ._grid import HEURISTICS, Grid


class TgnCawn(Grid):
    """Whether linear time serves models with a memory or with walks as well."""

    title = "TGN and CAWN"
    about = "Linear and cosine time in a model with a memory and in one with anonymous walks, by random negatives."
    models = ("tgn", "cawn")
    heuristics = HEURISTICS
    rows = {"cosine": "cosine", "linear": "linear"}  # noqa: RUF012
    data = ("uci", "wikipedia", "enron", "reddit")
    published = "tgn_cawn_test_ap_random_ns"
