"""Counts that Prometheus can read"""

from __future__ import annotations

import re
from bisect import bisect_left
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from chronolink import Predictor
from chronolink.service.app import create_app
from chronolink.service.metrics import BOUNDS, Metrics
from tests.services import event, make_run

LINE = re.compile(r'(?P<name>[a-z_]+)(\{(?P<labels>([a-z]+="[^"\\\n]*",?)+)\})? (?P<value>[-+.e\d]+)')


def read(text: str) -> dict[str, float]:
    """Every sample by its name with labels; a line that is neither that nor a comment is an error."""
    samples = {}
    for line in text.splitlines():
        if not re.match(r"# (HELP|TYPE) [a-z_]+ .+", line):
            assert LINE.fullmatch(line), line
            name, _, value = line.rpartition(" ")
            assert name not in samples
            samples[name] = float(value)
    return samples


def test_a_histogram_counts_what_is_not_above_each_bound() -> None:
    metrics = Metrics()
    seconds = [0.0, 0.004, 0.005, 0.0051, 0.3, 9.9, 10.0, 11.0, 1000.0]
    for value in seconds:
        metrics.count("/score", 200, value)
    found = read(metrics.text(3, 2))
    for bound in BOUNDS:
        wanted = sum(value <= bound for value in seconds)
        assert found[f'chronolink_request_seconds_bucket{{route="/score",le="{bound}"}}'] == wanted
    assert found['chronolink_request_seconds_bucket{route="/score",le="+Inf"}'] == len(seconds)
    assert found['chronolink_request_seconds_count{route="/score"}'] == len(seconds)
    assert found['chronolink_request_seconds_sum{route="/score"}'] == pytest.approx(sum(seconds))
    assert bisect_left(BOUNDS, 0.005) == 0  # a bound belongs to its own bucket


def test_every_family_has_its_help_and_type_once_before_its_samples() -> None:
    metrics = Metrics()
    metrics.count("/score", 200, 0.1)
    metrics.count("/events", 422, 0.1)
    seen: list[str] = []
    for line in metrics.text(3, 2).splitlines():
        if line.startswith("# TYPE"):
            seen.append(line.split()[2])
        elif not line.startswith("#"):
            assert line.startswith(seen[-1])
    assert len(seen) == len(set(seen)) == 5


def test_requests_pairs_and_events_are_counted(tmp_path: Path) -> None:
    with Predictor(make_run(tmp_path)) as predictor, TestClient(create_app(predictor)) as client:
        pair = {"source": "ann", "destination": "bob"}
        client.post("/score", json={"pairs": [pair] * 3})
        client.post("/score", json={"pairs": [pair] * 2})
        client.post("/score", json={"pairs": []})
        client.post("/score", content="x")
        client.get("/rank/ann")
        client.get("/rank/zed")
        client.get("/nowhere/ann")
        client.post("/events", json={"events": [event(200), event(201)]})
        answer = client.get("/metrics")
    found = read(answer.text)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    requests = {name: value for name, value in found.items() if name.startswith("chronolink_requests_total")}
    assert requests == {
        'chronolink_requests_total{route="/score",status="200"}': 2,
        'chronolink_requests_total{route="/score",status="422"}': 1,
        'chronolink_requests_total{route="/score",status="415"}': 1,
        'chronolink_requests_total{route="/rank",status="200"}': 1,
        'chronolink_requests_total{route="/rank",status="404"}': 1,
        'chronolink_requests_total{route="other",status="404"}': 1,
        'chronolink_requests_total{route="/events",status="200"}': 1,
    }
    assert found["chronolink_scored_pairs_total"] == 5
    assert (found["chronolink_history_events"], found["chronolink_nodes"]) == (202, 8)
