"""In this process, one by one"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..executor import Executor, Outcome, Work, attempt


class Here(Executor):
    """Does one piece after the other in this process, in their order."""

    def run(self, work: Sequence[Work]) -> Iterator[Outcome]:
        yield from map(attempt, work)
