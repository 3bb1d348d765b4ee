"""All cosines, or sines and cosines"""

from __future__ import annotations

from ._grid import Grid


class CosineOrSineCosine(Grid):
    """Whether pairs of sine and cosine do better than cosines alone."""

    title = "Cosine or sine-cosine pairs"
    about = "The sinusoidal time encoder with cosines alone and with pairs of sine and cosine, by random negatives."
    rows = {"cosine": "cosine", "sine-cosine": "sine-cosine"}  # noqa: RUF012
    published = "cosine_vs_sine_cosine_test_ap_random_ns"
