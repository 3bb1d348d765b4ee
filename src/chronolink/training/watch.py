"""Those who look on while training"""

from __future__ import annotations

from typing import Any


class Watch:
    """Told of everything, does nothing: the base of progress bars and loggers."""

    def stage(self, label: str, events: int) -> None:
        """A pass over so many events begins."""

    def advance(self, events: int, loss: float) -> None:
        """So many events were asked about."""

    def epoch(self, record: dict[str, Any]) -> None:
        """An epoch is over and kept."""

    def close(self) -> None:
        """Nothing more will come."""


class Several(Watch):
    """Passes everything on."""

    def __init__(self, *watches: Watch) -> None:
        self.watches = watches

    def stage(self, label: str, events: int) -> None:
        for watch in self.watches:
            watch.stage(label, events)

    def advance(self, events: int, loss: float) -> None:
        for watch in self.watches:
            watch.advance(events, loss)

    def epoch(self, record: dict[str, Any]) -> None:
        for watch in self.watches:
            watch.epoch(record)

    def close(self) -> None:
        for watch in self.watches:
            watch.close()
