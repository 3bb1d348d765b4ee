"""One thread that asks the predictor"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..new_events import Layout
from ..predictor import Predictor
from .asking import likelihoods
from .bodies import MOST_PAIRS, Likelihood, Pair
from .refusals import BusyError

T = TypeVar("T")
MOST_WAITING = 256
MOMENT = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class Known:
    """What is told of the history without waiting for the thread."""

    events: int
    nodes: int
    last_time: float

    @classmethod
    def by(cls, predictor: Predictor) -> Known:
        return cls(predictor.size, len(predictor.names), predictor.last_time)


@dataclass(frozen=True, slots=True)
class _Asked:
    pairs: Sequence[Pair]
    answer: Future[list[Likelihood]] = field(default_factory=Future)


class Desk:
    """All that is asked and observed goes through one thread, in turn, so no answer meets a half-applied batch.

    Pairs that wait at the same time are scored together: a question gets the same answer alone and in a batch, and
    a batch of a few takes hardly longer than one. It grows only as long as it is expected to take a moment, so that
    nobody waits long for its end.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor, self.known = predictor, Known.by(predictor)
        layout = Layout.of(predictor.settings, predictor.history.edge_features.shape[1], predictor.dated)
        features = [layout.edge_features] if isinstance(layout.edge_features, str) else list(layout.edge_features)
        self.needed = [layout.source, layout.destination, layout.time]
        self.columns = [*self.needed, *features]  # of the events that are observed
        self.waiting = 0
        self._pace = 0.0  # seconds a pair, of the last batch
        self._asked: deque[_Asked] = deque()
        self._thread = ThreadPoolExecutor(1, "predictor")

    async def ask(self, work: Callable[[Predictor], T]) -> T:
        """What the work finds when its turn comes."""
        self._make_wait()
        return await self._answer(self._thread.submit(lambda: work(self._current())))

    async def score(self, pairs: Sequence[Pair]) -> list[Likelihood]:
        self._make_wait()
        asked = _Asked(pairs)
        self._asked.append(asked)
        self._thread.submit(self._score_waiting)
        return await self._answer(asked.answer)

    async def observe(self, events: dict[str, list[Any]]) -> tuple[int, Known]:
        """How many, and the history after them; they are on the disk by then."""

        def work(predictor: Predictor) -> tuple[int, Known]:
            try:
                observed = predictor.observe(events)
            finally:  # even a batch that is refused may have made it read what others appended
                self.known = Known.by(predictor)
            return observed, self.known

        return await self.ask(work)

    def close(self) -> None:
        """Lets what was begun end."""
        self._thread.shutdown(wait=True)

    def _make_wait(self) -> None:
        if self.waiting >= MOST_WAITING:
            raise BusyError
        self.waiting += 1

    async def _answer(self, future: Future[T]) -> T:
        try:
            return await asyncio.wrap_future(future)
        finally:
            self.waiting -= 1

    def _current(self) -> Predictor:
        """In the thread: with what other processes appended meanwhile."""
        self.predictor.catch_up()
        self.known = Known.by(self.predictor)
        return self.predictor

    def _score_waiting(self) -> None:
        """In the thread: answers those that wait, as many as make one batch; each alone if one of them is refused."""
        together = [asked for asked in self._taken() if asked.answer.set_running_or_notify_cancel()]
        if not together:  # an earlier turn took them all
            return
        pairs, begun = [pair for asked in together for pair in asked.pairs], time.perf_counter()
        try:
            found = iter(likelihoods(self._current(), pairs))
        except Exception:
            for asked in together:
                self._score_alone(asked)
            return
        self._pace = (time.perf_counter() - begun) / len(pairs)
        for asked in together:
            asked.answer.set_result([next(found) for _ in asked.pairs])

    def _score_alone(self, asked: _Asked) -> None:
        try:
            asked.answer.set_result(likelihoods(self._current(), asked.pairs))
        except Exception as error:
            asked.answer.set_exception(error)

    def _taken(self) -> list[_Asked]:
        """The first that waits, and more as long as all are expected to take a moment."""
        taken: list[_Asked] = []
        room = min(float(MOST_PAIRS), MOMENT / self._pace if self._pace else MOST_PAIRS)
        while self._asked and (not taken or len(self._asked[0].pairs) <= room):
            taken.append(self._asked.popleft())
            room -= len(taken[-1].pairs)
        return taken
