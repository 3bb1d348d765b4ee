"""Linear maps with a chosen fan-in"""

import warnings

from torch import nn

FEWEST = 32  # rows from which on a matrix product on a few threads gives each row the same bits, however many rows


def linear(inputs: int, outputs: int, fan_in: int, bias: bool = True) -> nn.Linear:
    """A linear map that starts as if it had `fan_in` inputs.

    Where absent features are left out of a product, the weights that remain start as small as in the padded one, so
    that both train alike.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Initializing zero-element tensors")
        layer = nn.Linear(inputs, outputs, bias)
    for parameter in layer.parameters():
        parameter.data.uniform_(-(fan_in**-0.5), fan_in**-0.5)
    return layer
