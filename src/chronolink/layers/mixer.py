"""An MLP-mixer over slots and channels"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from .dropout import Dropout
from .product import product


class MixerLayer(nn.Module):
    """H' = H + V_2 GELU(V_1 LayerNorm(H) + c_1) + c_2,   out = H' + GELU(LayerNorm(H') U_1 + d_1) U_2 + d_2.

    V mixes the slots of each channel, U the channels of each slot; both norms are over channels (Tolstikhin et al.
    2021, "MLP-Mixer: an all-MLP architecture for vision"). Slots are never transposed: V is applied from the left. The
    scale of a dropout goes into the weights of the product that follows.
    """

    def __init__(self, slots: int, width: int, slot_hidden: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.slot_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.gather, self.spread = nn.Linear(slots, slot_hidden), nn.Linear(slot_hidden, slots)
        self.wide, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.on_gathered, self.on_spread = Dropout(dropout), Dropout(dropout)
        self.on_wide, self.on_narrow = Dropout(dropout), Dropout(dropout)

    def forward(self, rows: Tensor, key: Tensor) -> Tensor:
        """rows [nodes, slots, width], key [nodes] int64."""
        mixed = self.mix_slots(rows, key)
        key = self._slot_keys(mixed, key)
        narrow = self.on_narrow.drop(self._narrow(self._wide(mixed.flatten(0, 1), key)), key)
        return torch.add(mixed, narrow.view(mixed.shape), alpha=self.on_narrow.scale)

    def mean(self, rows: Tensor, key: Tensor) -> Tensor:
        """The mean of `forward` over the slots, [nodes, width]; without dropout U_2 is applied to a mean."""
        if self.training and self.on_narrow.dropped:
            return self(rows, key).mean(1)  # type: ignore[no-any-return]
        mixed = self.mix_slots(rows, key)
        wide = self._wide(mixed.flatten(0, 1), self._slot_keys(mixed, key))
        return mixed.mean(1) + self._narrow(wide.view(*mixed.shape[:2], -1).mean(1))

    def mix_slots(self, rows: Tensor, key: Tensor) -> Tensor:
        gathered = _from_the_left(self.gather.weight, self.gather.bias, self.slot_norm(rows))
        gathered = self.on_gathered.drop(F.gelu(gathered), key)
        spread = _from_the_left(self.spread.weight * self.on_gathered.scale, self.spread.bias, gathered)
        return torch.add(rows, self.on_spread.drop(spread, key), alpha=self.on_spread.scale)

    def _wide(self, rows: Tensor, key: Tensor) -> Tensor:
        return self.on_wide.after_gelu(self.wide, self.norm(rows), key)

    def _narrow(self, wide: Tensor) -> Tensor:
        return product(wide, self.narrow.weight * self.on_wide.scale, self.narrow.bias)

    def _slot_keys(self, rows: Tensor, key: Tensor) -> Tensor:
        return fold(key.unsqueeze(1), torch.arange(rows.shape[1], device=key.device)).flatten()


def _from_the_left(weight: Tensor, bias: Tensor, rows: Tensor) -> Tensor:
    """W rows + b for rows [nodes, slots, width]; `weight @ rows` would copy them transposed, at 15 times the cost."""
    return torch.baddbmm(bias.view(1, -1, 1), weight.expand(len(rows), *weight.shape), rows)
