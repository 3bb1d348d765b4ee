"""Questions about links: source, destination, time"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from .events import EventStream


@dataclass(frozen=True, slots=True, eq=False)
class LinkQuery:
    """A flat list of questions: does this source meet this destination at this time?"""

    source: Tensor  # [questions] int64
    destination: Tensor  # [questions] int64
    time: Tensor  # [questions] float64

    @classmethod
    def of(cls, events: EventStream) -> LinkQuery:
        return cls(events.source, events.destination, events.time)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, chosen: slice | Tensor) -> LinkQuery:
        return LinkQuery(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def __add__(self, other: LinkQuery) -> LinkQuery:
        return LinkQuery(*(torch.cat([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))

    def to(self, device: torch.device | str) -> LinkQuery:
        return LinkQuery(*(getattr(self, field.name).to(device) for field in fields(self)))
