"""The exponential within compiled loops"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiled import inlined

_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1), np.float32(2)
_LIMIT = np.float32(87)  # beyond it exp leaves the normal numbers
_PER_LOG_2 = np.float32(1 / math.log(2.0))
_HIGH, _LOW = np.float32(0.693359375), np.float32(math.log(2.0) - 0.693359375)  # log 2, the first of few bits
_2, _3, _4, _5, _6, _7 = (np.float32(1 / math.factorial(power)) for power in range(2, 8))


@inlined
def exponential(x: Any) -> Any:
    """2^n exp(r) with x = n log 2 + r: exp(r) by Taylor, the power of two written into the bits of the float."""
    x = min(max(x, -_LIMIT), _LIMIT)
    whole = np.floor(x * _PER_LOG_2 + _HALF)
    r = x - whole * _HIGH - whole * _LOW
    return (_ONE + r * (_ONE + r * (_2 + r * (_3 + r * (_4 + r * (_5 + r * (_6 + r * _7))))))) * _two_to(whole)


@inlined
def sigmoid(x: Any) -> Any:
    return _ONE / (_ONE + exponential(-x))


@inlined
def tanh(x: Any) -> Any:
    return _ONE - _TWO / (_ONE + exponential(_TWO * x))


def _power_of_two(_context: Any, _whole: Any) -> Any:
    """2^n of a whole float32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bits = ir.IntType(32)
        exponent = builder.add(builder.fptosi(arguments[0], bits), ir.Constant(bits, 127))
        return builder.bitcast(builder.shl(exponent, ir.Constant(bits, 23)), ir.FloatType())

    return types.float32(types.float32), generate


_two_to: Any = intrinsic(_power_of_two)
