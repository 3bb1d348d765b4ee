"""Many ask at once, and each gets whole answers"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import httpx2
import numpy as np
import pytest
import torch

from chronolink.answers import Scored
from chronolink.errors import ChronolinkError
from chronolink.names import Names
from chronolink.service import desk as desk_module
from chronolink.service.app import create_app
from chronolink.service.bodies import Pair
from chronolink.service.desk import Desk
from chronolink.service.refusals import BusyError, UnknownNodeError


class Slow:
    """A predictor whose batches are applied in two steps, with a pause between."""

    name, dated, settings = "slow", False, {"data": "slow", "model": {"name": "slow"}}

    def __init__(self) -> None:
        self.names = Names(["a", "b", "c"])
        self.history = SimpleNamespace(edge_features=torch.empty(0, 0))
        self.size, self.first, self.second = 0, 0, 0
        self.asked: list[int] = []
        self.hold = threading.Event()
        self.hold.set()

    @property
    def last_time(self) -> float:
        return float(self.size)

    def catch_up(self) -> None:
        """Nobody else appends."""

    def observe(self, events: dict[str, list[Any]]) -> int:
        self.first += 1
        time.sleep(0.002)
        self.second += 1
        self.size += len(events["source"])
        return len(events["source"])

    def score(self, source: Sequence[str], destination: Sequence[str], at: Sequence[float]) -> Scored:
        self.hold.wait(10)
        if min(at) < 0:
            raise ChronolinkError("before all times")
        self.asked.append(len(source))
        before = (self.first, self.second)
        time.sleep(0.001)
        mixed = before != (self.first, self.second) or self.first != self.second
        codes = [10.0 * ord(a) + ord(b) for a, b in zip(source, destination, strict=True)]
        return Scored(np.array(codes) + at, np.full(len(codes), float(mixed)))


BATCH: dict[str, list[Any]] = {"source": ["a"], "destination": ["b"], "time": [1.0]}


def pair(source: str = "a", destination: str = "b", at: float = 0.5) -> Pair:
    return Pair(source=source, destination=destination, at=at)


def code(asked: Pair) -> float:
    return 10.0 * ord(asked.source) + ord(asked.destination) + float(asked.at or 0)


def test_no_answer_meets_a_half_applied_batch() -> None:
    slow: Any = Slow()
    desk = Desk(slow)

    async def many() -> list[Any]:
        work = [desk.observe(BATCH) if turn % 2 else desk.score([pair()]) for turn in range(60)]
        return await asyncio.gather(*work)

    answers = asyncio.run(many())
    assert [row.probability for answer in answers[::2] for row in answer] == [0.0] * 30
    assert sorted(answer[1].events for answer in answers[1::2]) == list(range(1, 31))
    desk.close()


def test_those_that_wait_are_asked_together_and_each_gets_its_own() -> None:
    slow: Any = Slow()
    desk = Desk(slow)
    asked = [[pair("abc"[n % 3], "abc"[m], at=n / 8) for m in range(1 + n % 3)] for n in range(40)]

    async def many() -> list[Any]:
        slow.hold.clear()
        waiting = [asyncio.create_task(desk.score(pairs)) for pairs in asked]
        await asyncio.sleep(0.05)
        slow.hold.set()
        return await asyncio.gather(*waiting)

    for pairs, answer in zip(asked, asyncio.run(many()), strict=True):
        assert [row.score for row in answer] == [code(one) for one in pairs]
    assert len(slow.asked) < 8
    assert sum(slow.asked) == sum(map(len, asked))
    desk.close()


def test_a_batch_of_those_that_wait_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MOST_PAIRS", 5)
    slow: Any = Slow()
    desk = Desk(slow)

    async def many() -> None:
        await asyncio.gather(*(desk.score([pair(), pair()]) for _ in range(20)))

    asyncio.run(many())
    assert max(slow.asked) <= 4
    assert sum(slow.asked) == 40
    desk.close()


def test_a_batch_grows_only_as_long_as_it_takes_a_moment() -> None:
    slow: Any = Slow()
    desk = Desk(slow)
    for pace, together in ((0.0, 40), (0.0001, 40), (0.01, 10), (0.06, 2), (5.0, 2)):
        desk._asked.extend(desk_module._Asked([pair(), pair()]) for _ in range(20))
        desk._pace = pace
        assert sum(len(asked.pairs) for asked in desk._taken()) == together
        desk._asked.clear()
    desk.close()


def test_who_asks_wrongly_spoils_no_other_answer() -> None:
    slow: Any = Slow()
    desk = Desk(slow)
    asked = [[pair()], [pair("z")], [pair(at=-1.0)], [pair("c")]]

    async def many() -> list[Any]:
        slow.hold.clear()
        waiting = [asyncio.create_task(desk.score(pairs)) for pairs in asked]
        await asyncio.sleep(0.05)
        slow.hold.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, unknown, early, last = asyncio.run(many())
    assert (first[0].score, last[0].score) == (code(pair()), code(pair("c")))
    assert isinstance(unknown, UnknownNodeError)
    assert isinstance(early, ChronolinkError)
    desk.close()


def test_too_many_that_wait_are_sent_away_and_those_that_wait_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MOST_WAITING", 3)
    slow: Any = Slow()
    desk = Desk(slow)

    async def many() -> list[Any]:
        return await asyncio.gather(*(desk.score([pair()]) for _ in range(5)), return_exceptions=True)

    answers = asyncio.run(many())
    assert [isinstance(answer, BusyError) for answer in answers] == [False] * 3 + [True] * 2
    assert len(asyncio.run(many())) == 5
    assert desk.waiting == 0
    desk.close()


def test_who_has_gone_away_is_not_waited_for() -> None:
    slow: Any = Slow()
    desk = Desk(slow)

    async def gone() -> list[Any]:
        slow.hold.clear()
        tasks = [asyncio.create_task(desk.score([pair()])) for _ in range(3)]
        await asyncio.sleep(0.05)
        tasks[2].cancel()
        await asyncio.sleep(0)
        slow.hold.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(gone())
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [False, False, True]
    assert sum(slow.asked) == 2
    assert desk.waiting == 0
    desk.close()


def test_the_sign_of_life_comes_while_a_score_takes_its_time() -> None:
    slow: Any = Slow()
    app = create_app(slow)

    async def both() -> tuple[int, int]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here") as client:
            slow.hold.clear()
            body = {"pairs": [{"source": "a", "destination": "b"}]}
            scoring = asyncio.create_task(client.post("/score", json=body))
            await asyncio.sleep(0.05)
            alive = await asyncio.wait_for(client.get("/health"), 5)
            told = await asyncio.wait_for(client.get("/metrics"), 5)
            assert not scoring.done()
            slow.hold.set()
            assert (await scoring).status_code == 200
            return alive.status_code, told.status_code

    assert asyncio.run(both()) == (200, 200)
    app.state.desk.close()


def test_closing_lets_what_was_begun_end() -> None:
    slow: Any = Slow()
    desk = Desk(slow)

    async def begin() -> None:
        slow.hold.clear()
        asyncio.create_task(desk.score([pair()])).add_done_callback(lambda task: task.cancelled())
        await asyncio.sleep(0.02)
        slow.hold.set()

    asyncio.run(begin())
    desk.close()
    assert slow.asked in ([], [1])
