"""Cosine of the standardised time"""

from .cosine import Cosine as _Cosine


class CosineScaled(_Cosine):
    """phi_i(dt) = cos(w_i z + b_i) with z = (dt - mean) / deviation; the paper's "sinusoidal-scale".

    It tells the gain of standardising from the gain of a linear encoding.
    """

    standardised = True
