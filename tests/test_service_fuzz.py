"""Whatever body or address is sent, the service answers with JSON, and a refusal changes nothing

CHRONOLINK_FUZZ=10000 tries so many in all, other ones every time; without it a few hundred, always the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from chronolink import Predictor
from chronolink.service.app import create_app
from tests.oddities import CELLS
from tests.services import PEOPLE, day, make_run

TRIED = int(os.environ.get("CHRONOLINK_FUZZ", "300"))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), CELLS, st.sampled_from(PEOPLE))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
TIMES = st.one_of(st.integers(0, 4000).map(day), SCALARS)


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, VALUES)


def rows(**columns: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Bodies' rows: as they should be, with a fault, with a column more or less."""
    whole = st.fixed_dictionaries({name: mostly(kind) for name, kind in columns.items()})
    part = st.fixed_dictionaries({}, optional={**columns, "other": VALUES})
    return mostly(st.lists(st.one_of(whole, whole, part, VALUES), max_size=4))


NAMES = st.sampled_from([*PEOPLE, "new one", "7"])
EVENTS = rows(who=NAMES, whom=NAMES, when=TIMES, amount=st.floats(-10, 10))
PAIRS = rows(source=NAMES, destination=NAMES, at=TIMES)
BODIES = st.one_of(
    st.tuples(st.just("/events"), st.fixed_dictionaries({"events": EVENTS})),
    st.tuples(st.just("/score"), st.fixed_dictionaries({"pairs": PAIRS})),
    st.tuples(st.sampled_from(["/events", "/score"]), VALUES),
)
QUERIES = st.dictionaries(
    st.sampled_from(["at", "top", "candidates", "most", "source", "destination", "node", "search", "other"]),
    st.one_of(NAMES, CELLS, st.integers(-3, 2000).map(str)).map(lambda word: word.encode(errors="replace").decode()),
    max_size=4,
)


def tries(share: float) -> Any:
    return settings(
        max_examples=max(1, int(TRIED * share)),
        derandomize="CHRONOLINK_FUZZ" not in os.environ,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Predictor]]:
    run = make_run(tmp_path_factory.mktemp("run"))
    with Predictor(run) as predictor, TestClient(create_app(predictor), raise_server_exceptions=True) as client:
        yield client, predictor


def checked(answer: Any) -> bool:
    """Whether it was accepted; a refusal is one sentence."""
    assert answer.status_code == 200 or 400 <= answer.status_code < 500, answer.text
    if answer.status_code != 200:
        sentence = answer.json()["detail"]
        assert isinstance(sentence, str)
        assert sentence
        assert "\n" not in sentence
    return bool(answer.status_code == 200)


@tries(0.5)
@given(body=BODIES)
def test_any_json_is_answered(asked: tuple[TestClient, Predictor], body: tuple[str, Any]) -> None:
    client, predictor = asked
    before = predictor.size
    content = json.dumps(body[1]).encode(errors="surrogatepass")
    answer = client.post(body[0], content=content, headers={"Content-Type": "application/json"})
    accepted = checked(answer)
    taken = answer.json()["observed"] if accepted and body[0] == "/events" else 0
    assert predictor.size == before + taken
    assert bool((predictor.history.time.diff() >= 0).all())


@tries(0.2)
@given(path=st.sampled_from(["/events", "/score"]), content=st.binary(max_size=80), kind=st.sampled_from(["json", "x"]))
def test_any_bytes_are_answered(asked: tuple[TestClient, Predictor], path: str, content: bytes, kind: str) -> None:
    client, predictor = asked
    before = predictor.size
    assert not checked(client.post(path, content=content, headers={"Content-Type": f"application/{kind}"}))
    assert predictor.size == before


@tries(0.3)
@given(
    route=st.sampled_from(["rank", "past", "explain", "nodes", "about", "nowhere"]), node=NAMES | CELLS, query=QUERIES
)
def test_any_question_is_answered(
    asked: tuple[TestClient, Predictor], route: str, node: str, query: dict[str, str]
) -> None:
    client, predictor = asked
    before = predictor.size
    checked(client.get(f"/{route}", params={"node": node.encode(errors="replace").decode(), **query}))
    assert predictor.size == before


def test_after_all_that_it_still_scores(asked: tuple[TestClient, Predictor]) -> None:
    found = asked[0].post("/score", json={"pairs": [{"source": "ann", "destination": "bob"}]}).json()["scores"][0]
    assert 0 <= found["probability"] <= 1


def test_what_was_accepted_is_there_when_the_run_is_opened_again(asked: tuple[TestClient, Predictor]) -> None:
    predictor = asked[1]
    again = Predictor(Path(predictor.folder.path))
    assert again.history.graph.digest() == predictor.history.graph.digest()
