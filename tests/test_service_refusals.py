"""Whatever is sent, the service answers with a sentence and goes on"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronolink import Predictor
from chronolink.errors import ChronolinkError
from chronolink.service import bodies, guard
from chronolink.service.app import create_app
from tests.services import event, make_run

JSON = {"Content-Type": "application/json"}
KEY = "sésame 42"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def predictor(trained: Path, tmp_path: Path) -> Iterator[Predictor]:
    with Predictor(shutil.copytree(trained, tmp_path / "run")) as predictor:
        yield predictor


@pytest.fixture
def client(predictor: Predictor) -> Iterator[TestClient]:
    with TestClient(create_app(predictor)) as client:
        yield client


def refused(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["detail"]
    sentence = answer.json()["detail"]
    assert isinstance(sentence, str)
    assert sentence
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


PAIR = '"source": "ann", "destination": "bob"'
WRONG_PAIRS = [
    ("", "the body is missing"),
    ("{", "the body is not JSON"),
    ("null", "the body is no object"),
    ("[1]", "the body is no object"),
    ('"\\ud800"', "the body is no object"),
    ("{}", "pairs is missing; give it"),
    ('{"pairs": "x"}', "pairs is no list; give a list"),
    ('{"pairs": []}', "pairs is empty; give at least 1"),
    ('{"pairs": [3]}', "pairs, row 1 is no object"),
    ('{"pairs": [{"source": "ann"}]}', "pairs, row 1: destination is missing; give it"),
    (f'{{"pairs": [{{{PAIR}}}, {{{PAIR}, "when": 3}}]}}', "pairs, row 2: when is not known here"),
    (f'{{"pairs": [{{{PAIR}}}], "more": 1}}', "more is not known here"),
    ('{"pairs": [{"source": 7.5, "destination": "bob"}]}', "pairs, row 1: source 7.5 is no name of a node"),
    ('{"pairs": [{"source": true, "destination": "bob"}]}', "source true is no name of a node"),
    ('{"pairs": [{"source": null, "destination": "bob"}]}', "source null is no name of a node"),
    ('{"pairs": [{"source": ["ann"], "destination": "bob"}]}', 'source ["ann"] is no name of a node'),
    ('{"pairs": [{"source": "\\ud800", "destination": "bob"}]}', "holds half a character"),
    (f'{{"pairs": [{{{PAIR}, "at": NaN}}]}}', "at NaN is no time"),
    (f'{{"pairs": [{{{PAIR}, "at": -Infinity}}]}}', "at -Infinity is no time"),
    (f'{{"pairs": [{{{PAIR}, "at": 1e999}}]}}', "is no time"),
    (f'{{"pairs": [{{{PAIR}, "at": "nan"}}]}}', "at is missing"),
    (f'{{"pairs": [{{{PAIR}, "at": 1{"0" * 400}}}]}}', "is no time"),
    (f'{{"pairs": [{{{PAIR}, "at": true}}]}}', "at true is no time"),
    (f'{{"pairs": [{{{PAIR}}}, {{{PAIR}, "at": "soon"}}]}}', "pairs, row 2: at 'soon' is neither a number nor"),
    (f'{{"pairs": [{{{PAIR}, "at": 1e16}}]}}', "is no time; give a number within 2**53 or an ISO date"),
    ("[" * 100_000, "cannot be read as JSON"),
    (f'{{"pairs": [{{"source": {"1" * 5000}, "destination": "bob"}}]}}', "cannot be read as JSON"),
]


@pytest.mark.parametrize(("body", "sentence"), WRONG_PAIRS, ids=[sentence for _, sentence in WRONG_PAIRS])
def test_a_wrong_question_is_told_what_is_wrong(client: TestClient, body: str, sentence: str) -> None:
    assert sentence in refused(client.post("/score", content=body, headers=JSON), 422)


WRONG_EVENTS = [
    ({"events": []}, "events is empty"),
    ({"events": [{}]}, "events, row 1: who is missing; fill it in"),
    ({"events": [event(200), {"who": "ann"}]}, "events, row 2: whom is missing; fill it in"),
    ({"events": [{**event(200), "who": None}]}, "events, row 1: who is missing"),
    ({"events": [{**event(200), "who": " "}]}, "who is missing"),
    ({"events": [{**event(200), "who": True}]}, "who true is neither text nor a finite number"),
    ({"events": [{**event(200), "amount": [1]}]}, "amount [1] is neither text nor a finite number"),
    ({"events": [{**event(200), "amount": "much"}]}, "amount 'much' is no number"),
    ({"events": [{"who": "ann", "whom": "bob", "when": event(200)["when"]}]}, "no column 'amount'"),
    ({"events": [event(200), event(3)]}, "is older than the last one at 2024-07-18"),
    ({"events": [{**event(200), "when": "soon"}]}, "when 'soon' is neither a number nor an ISO date"),
    ({"events": [{**event(200), "when": 1.8e9}]}, "when holds numbers, the run's events have dates; give dates"),
    ({"events": [event(200), {**event(200), "when": 1.8e9}]}, "give numbers only or dates only"),
    ({"events": [{**event(200), "\ud800": 1}]}, "events"),
    ({"events": [{**event(200), **{str(number): 1 for number in range(600)}}]}, "columns; send those of the run's log"),
]


@pytest.mark.parametrize(("body", "sentence"), WRONG_EVENTS, ids=[sentence for _, sentence in WRONG_EVENTS])
def test_of_a_batch_with_a_wrong_event_nothing_is_taken_in(
    client: TestClient, predictor: Predictor, body: Any, sentence: str
) -> None:
    assert sentence in refused(client.post("/events", content=json.dumps(body), headers=JSON), 422)
    assert (predictor.size, client.get("/about").json()["events"]) == (200, 200)


WRONG_ADDRESSES = [
    ("/rank/zed", 404, "no node named 'zed'"),
    ("/rank/an", 404, "did you mean 'ann'?"),
    ("/rank/", 404, "no node named ''"),
    ("/past/zed", 404, "no node named 'zed'"),
    ("/rank?node=zed", 404, "no node named 'zed'"),
    ("/rank", 422, "node is missing"),
    ("/rank/ann?candidates=bob&candidates=zed", 404, "no node named 'zed'"),
    ("/explain?source=ann&destination=zed", 404, "no node named 'zed'"),
    ("/explain?source=ann", 422, "destination is missing"),
    ("/rank/ann?at=soon", 422, "at 'soon' is no time"),
    ("/rank/ann?at=nan", 422, "at 'nan' is no time"),
    ("/rank/ann?at=inf", 422, "at 'inf' is no time"),
    ("/rank/ann?at=1e999", 422, "is no time"),
    ("/explain?source=ann&destination=bob&at=-1e16", 422, "give a number within 2**53"),
    ("/rank/ann?top=0", 422, "top: input should be greater than or equal to 1"),
    ("/rank/ann?top=many", 422, "top: input should be a valid integer"),
    ("/rank/ann?top=1000000", 422, "top: input should be less than or equal to 1000"),
    ("/past/ann?most=99999999999999999999", 422, "most"),
    ("/rank/%FF%FE", 404, "no node named"),
    ("/nowhere", 404, "/docs lists what there is"),
    ("/score", 405, "takes another method"),
]


@pytest.mark.parametrize(("address", "status", "sentence"), WRONG_ADDRESSES, ids=[row[0] for row in WRONG_ADDRESSES])
def test_a_wrong_address_is_told_what_is_wrong(client: TestClient, address: str, status: int, sentence: str) -> None:
    assert sentence in refused(client.get(address), status)


def test_a_time_beyond_the_calendar_is_answered(client: TestClient) -> None:
    for at in ("1e15", "-1e15", "0001-01-01", "9999-12-31"):
        assert client.get("/past/ann", params={"at": at}).status_code == 200
        assert client.get("/rank/ann", params={"at": at}).status_code == 200


def test_a_pair_of_unknown_nodes_is_not_found(client: TestClient) -> None:
    answer = client.post("/score", json={"pairs": [{"source": "ann", "destination": "z" * 100_000}]})
    assert len(refused(answer, 404)) < 1000


def test_a_body_that_is_not_said_to_be_json_is_refused_so_no_other_site_can_post(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post("/events", content=json.dumps({"events": [event(200)]}), headers={"Content-Type": kind})
        assert "Content-Type: application/json" in refused(answer, 415)
    assert client.get("/about").json()["events"] == 200


def test_a_large_body_is_refused_whether_or_not_its_length_is_told(client: TestClient) -> None:
    large = b" " * (guard.MOST_BYTES + 1)
    assert "send it in parts" in refused(client.post("/score", content=large, headers=JSON), 413)
    assert "send it in parts" in refused(client.post("/score", content=iter([large[:9], large]), headers=JSON), 413)
    assert "send it in parts" in refused(client.post("/score", content=[large] * 40, headers=JSON), 413)


def test_too_many_items_are_refused(client: TestClient) -> None:
    pairs = [{"source": "ann", "destination": "bob"}] * (bodies.MOST_PAIRS + 1)
    assert "pairs has more than 10000 items" in refused(client.post("/score", json={"pairs": pairs}), 422)
    events = [{"who": 1}] * (bodies.MOST_EVENTS + 1)
    assert "events has more than 10000 items" in refused(client.post("/events", json={"events": events}), 422)


def test_bytes_that_are_no_text_are_refused(client: TestClient) -> None:
    for body in (b"\xff\xfe\x00", b'{"pairs": "\xc3"}', bytes(range(256))):
        refused(client.post("/score", content=body, headers=JSON), 422)


def odd(dice: random.Random, depth: int = 0) -> Any:
    """Any JSON, with the words that the service knows in odd places."""
    words = ["pairs", "events", "source", "destination", "at", "who", "ann", "", "\ud83d", "\x00", "2024-01-01"]
    plain = [None, True, 0, -1, 2**63, 2**70, 1.5, 1e308, float("nan"), float("inf"), *words]
    if depth > 3 or dice.random() < 0.4:
        return dice.choice(plain)
    if dice.random() < 0.5:
        return [odd(dice, depth + 1) for _ in range(dice.randrange(4))]
    return {dice.choice(words): odd(dice, depth + 1) for _ in range(dice.randrange(5))}


def test_odd_json_never_breaks_the_service(client: TestClient, predictor: Predictor) -> None:
    dice = random.Random(0)
    for _ in range(400):
        name = dice.choice(["pairs", "events"])
        body = {name: [odd(dice, 2) for _ in range(dice.randrange(3))]} if dice.random() < 0.7 else odd(dice)
        answer = client.post("/score" if name == "pairs" else "/events", content=json.dumps(body), headers=JSON)
        refused(answer, 404 if answer.status_code == 404 else 422)
    assert predictor.size == 200


def test_a_fault_of_our_own_is_a_sentence_too_and_the_service_goes_on(
    client: TestClient, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(predictor, "score", broken)
    answer = client.post("/score", json={"pairs": [{"source": "ann", "destination": "bob"}]})
    assert "secret" not in refused(answer, 500)
    assert client.get("/rank/ann").status_code == 200


def test_a_disk_that_cannot_be_written_is_no_fault_of_who_asked(
    client: TestClient, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Any) -> int:
        raise ChronolinkError("the journal cannot be written; nothing was kept") from OSError(28, "no space left")

    monkeypatch.setattr(predictor, "observe", full)
    assert "nothing was kept" in refused(client.post("/events", json={"events": [event(200)]}), 503)


@pytest.fixture
def locked(predictor: Predictor) -> Iterator[TestClient]:
    with TestClient(create_app(predictor, f" {KEY}\n")) as client:  # as a file of secrets may give it
        yield client


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-API-Key", "wrong"),
        ("X-API-Key", ""),
        ("X-API-Key", KEY[:-1]),
        ("X-API-Key", f"{KEY}x"),
        ("Authorization", f"Basic {KEY}"),
        ("Authorization", "Bearer"),
        ("Authorization", f"Bearer{KEY}"),
        ("Cookie", f"X-API-Key={KEY}"),
    ],
)
def test_without_the_key_nothing_is_told_or_taken_in(locked: TestClient, name: str, value: str) -> None:
    headers = {name: value.encode()}
    for address in ("/about", "/rank/ann", "/past/ann", "/explain", "/nodes", "/metrics", "/openapi.json", "/nowhere"):
        answer = locked.get(address, headers=headers)
        assert "X-API-Key" in refused(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
    refused(locked.post("/events", json={"events": [event(200)]}, headers=headers), 401)
    refused(locked.post("/score", json={}, headers=headers), 401)


def test_with_the_key_in_either_header_all_is_open(locked: TestClient) -> None:
    for name, value in (("X-API-Key", KEY), ("Authorization", f"Bearer {KEY}"), ("authorization", f"bearer {KEY}")):
        assert locked.get("/about", headers={name: value.encode()}).json()["events"] == 200
    assert locked.post("/events", json={"events": [event(200)]}, headers={"X-API-Key": KEY.encode()}).status_code == 200


def test_the_sign_of_life_and_the_pages_need_no_key_and_tell_nothing_of_the_run(locked: TestClient) -> None:
    assert locked.get("/health").json() == {"status": "ok"}
    for address in ("/", "/docs"):
        page = locked.get(address)
        assert page.status_code == 200
        assert not any(word in page.text for word in ("Çelik", "recency", "200 events", KEY))
