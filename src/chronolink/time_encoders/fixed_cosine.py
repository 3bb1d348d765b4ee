"""Fixed cosine: frequencies that nothing learns"""

import torch
from torch import Tensor

from ..time_encoder import TimeEncoder


class FixedCosine(TimeEncoder):
    """phi_i(dt) = cos(w_i dt), w_i = alpha^(-(i - 1) / beta), alpha = beta = sqrt(width), not learnt.

    The fixed time encoding of GraphMixer (Cong et al. 2023, "Do we really need complicated model architectures for
    temporal networks?"). In seconds, a width of 100 spans periods from 6 seconds to 1,600 years.

    Args:
        width: how many features.
    """

    frequency: Tensor

    def __init__(self, width: int = 100) -> None:
        super().__init__(width)
        base = torch.tensor(float(width), dtype=torch.float64).sqrt()
        frequency = base ** -(torch.arange(width, dtype=torch.float64) / base)
        self.register_buffer("frequency", frequency.to(torch.get_default_dtype()), persistent=False)

    def encode(self, number: Tensor) -> Tensor:
        return (number.unsqueeze(-1) * self.frequency).cos_()
