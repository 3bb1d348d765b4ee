"""Over HTTP a run answers what the predictor answers"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronolink import Predictor
from chronolink.readers.times import moment
from chronolink.service.app import create_app
from tests.services import PEOPLE, day, event, make_run


@pytest.fixture(scope="module", params=["recency", "tgat"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), request.param)


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture
def client(run: Path) -> Iterator[TestClient]:
    with Predictor(run) as predictor, TestClient(create_app(predictor)) as client:
        yield client


@pytest.fixture
def twin(trained: Path) -> Iterator[Predictor]:
    """The same run, asked in Python."""
    with Predictor(trained) as predictor:
        yield predictor


def good(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def close(found: float, wanted: float) -> bool:
    return math.isclose(found, wanted, rel_tol=1e-5, abs_tol=1e-6)


def test_pairs_get_the_predictor_s_scores_and_probabilities_in_their_order(client: TestClient, twin: Predictor) -> None:
    pairs = [{"source": a, "destination": b} for a in PEOPLE for b in PEOPLE]
    found = good(client.post("/score", json={"pairs": pairs}))["scores"]
    wanted = twin.score([pair["source"] for pair in pairs], [pair["destination"] for pair in pairs])
    assert len(found) == len(pairs)
    assert all(close(row["score"], score) for row, score in zip(found, wanted.score, strict=True))
    assert all(close(row["probability"], share) for row, share in zip(found, wanted.probability, strict=True))
    assert {row["at"] for row in found} == {math.nextafter(twin.last_time, math.inf)}


def test_each_pair_is_asked_at_its_own_time_given_as_number_or_date(client: TestClient, twin: Predictor) -> None:
    times = [day(30), moment(day(60)), str(moment(day(90))), None, "2024-05-01T12:00:00+02:00"]
    pairs = [{"source": "ann", "destination": "bob", "at": time} for time in times]
    found = good(client.post("/score", json={"pairs": pairs}))["scores"]
    asked = [moment(day(30)), moment(day(60)), moment(day(90)), math.nextafter(twin.last_time, math.inf)]
    asked.append(moment("2024-05-01 10:00"))
    assert [row["at"] for row in found] == asked
    wanted = twin.score(["ann"] * 5, ["bob"] * 5, asked)
    assert all(close(row["score"], score) for row, score in zip(found, wanted.score, strict=True))


def test_a_name_that_is_a_number_may_be_written_as_one(client: TestClient) -> None:
    pairs = [{"source": 7, "destination": "ann"}, {"source": "7", "destination": "ann"}]
    first, second = good(client.post("/score", json={"pairs": pairs}))["scores"]
    assert close(first["score"], second["score"])


def test_the_ranking_is_the_predictor_s(client: TestClient, twin: Predictor) -> None:
    for asked in ({}, {"top": 3}, {"at": day(100)}, {"candidates": "seen"}, {"candidates": ["gil", "eve"]}):
        found = good(client.get("/rank/ann", params=asked))
        at = moment(asked["at"]) if "at" in asked else None  # type: ignore[arg-type]
        wanted = twin.rank("ann", at, asked.get("top", 10), asked.get("candidates", "all"))  # type: ignore[arg-type]
        assert [row["name"] for row in found["ranked"]] == [row.name for row in wanted]
        assert [row["last_met"] for row in found["ranked"]] == [row.last_met for row in wanted]
        assert all(close(row["score"], same.score) for row, same in zip(found["ranked"], wanted, strict=True))


def test_a_name_with_a_slash_or_a_space_can_be_asked_for(client: TestClient) -> None:
    for name, written in (("fay/jr", "fay%2Fjr"), ("dan o'neil", "dan%20o'neil"), ("Çelik", "%C3%87elik")):
        assert good(client.get(f"/past/{written}"))["node"] == name
        assert good(client.get(f"/rank/{written}"))["node"] == name
        assert good(client.get("/rank", params={"node": name}))["node"] == name


def test_the_past_lies_strictly_before_the_asked_time(client: TestClient, twin: Predictor) -> None:
    last = twin.past("ann")[-1]
    for at, there in ((last.time, False), (math.nextafter(last.time, math.inf), True)):
        found = good(client.get("/past/ann", params={"at": at, "most": 5}))
        wanted = twin.past("ann", at, 5)
        assert [row["time"] for row in found["events"]] == [event.time for event in wanted]
        assert (found["events"][-1]["time"] == last.time) is there
        assert found["events"][-1]["shown"].startswith("2024-")


def test_a_score_is_explained_by_the_predictor_s_weights(client: TestClient, twin: Predictor) -> None:
    found = good(client.get("/explain", params={"source": "ann", "destination": "bob", "most": 4}))
    wanted = twin.explain("ann", "bob", most=4)
    assert close(found["score"], wanted.score)
    assert [row["time"] for row in found["events"]] == [row.time for row in wanted.events]
    assert all(close(row["weight"], same.weight) for row, same in zip(found["events"], wanted.events, strict=True))


def test_what_was_observed_counts_at_once_and_is_there_when_the_run_is_opened_again(
    client: TestClient, run: Path
) -> None:
    batch = [event(201, "gil", "ann"), event(200, "gil", "zoë")]
    found = good(client.post("/events", json={"events": batch}))
    assert found == {"observed": 2, "events": 202, "last_time": moment(day(201))}
    assert good(client.get("/past/zoë"))["events"][-1]["source"] == "gil"
    with Predictor(run) as again:  # nobody has saved: it is the journal that knows
        assert again.size == 202
        assert [(row.source, row.destination) for row in again.past("gil")[-2:]] == [("gil", "zoë"), ("gil", "ann")]


def test_numbers_with_and_without_a_point_and_names_of_both_kinds_go_together(client: TestClient) -> None:
    large = 123456789012345678901
    batch = [{**event(200), "amount": amount} for amount in (1, 1.5)]
    batch += [{**event(200), "whom": name} for name in (7, large, 8.0)]
    assert good(client.post("/events", json={"events": batch}))["observed"] == 5
    for name in ("7", str(large), "8"):
        assert good(client.get(f"/past/{name}"))["events"][-1]["source"] == "ann"


def test_nodes_are_found_by_how_they_begin_then_by_what_they_hold(client: TestClient) -> None:
    assert good(client.get("/nodes", params={"search": "AN"}))["nodes"] == ["ann", "dan o'neil"]
    assert good(client.get("/nodes", params={"search": "çe"}))["nodes"] == ["Çelik"]
    assert len(good(client.get("/nodes", params={"top": 3}))["nodes"]) == 3
    assert good(client.get("/nodes", params={"search": "zzz"}))["nodes"] == []


def test_the_run_is_described(client: TestClient, trained: Path) -> None:
    found = good(client.get("/about"))
    assert (found["name"], found["model"], found["events"], found["nodes"]) == ("log", trained.name, 200, len(PEOPLE))
    assert found["columns"] == ["who", "whom", "when", "amount"]
    assert (found["dated"], found["last_shown"]) == (True, day(199))


def test_every_address_is_described_for_machines_and_for_people(client: TestClient) -> None:
    paths = good(client.get("/openapi.json"))["paths"]
    wanted = {
        "/events",
        "/score",
        "/rank/{node}",
        "/past/{node}",
        "/explain",
        "/nodes",
        "/about",
        "/health",
        "/metrics",
    }
    assert wanted <= set(paths)
    assert "<title>Chronolink: the interface" in client.get("/docs").text


def test_no_answer_is_kept_by_a_browser_or_read_as_something_else(client: TestClient) -> None:
    for address in ("/", "/docs", "/health", "/nowhere"):
        headers = client.get(address).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


def test_what_another_process_appended_counts_in_the_next_answer(run: Path, client: TestClient) -> None:
    before = good(client.get("/past/ann"))["events"]
    with Predictor(run) as other:
        other.observe({name: [value] for name, value in event(500).items()})
    after = good(client.get("/past/ann"))["events"]
    assert len(after) == min(len(before) + 1, 50)
    assert after != before
    assert good(client.get("/about"))["last_time"] == moment(day(500))
