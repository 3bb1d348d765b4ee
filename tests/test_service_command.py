"""The service as it is started and stopped"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from chronolink import Predictor
from chronolink.cli import main
from chronolink.commands import serve
from tests.services import event, make_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


@contextmanager
def started(run: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of its own at a free port, and its address."""
    command = [sys.executable, "-m", "chronolink", "serve", str(run), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("log at http://127.0.0.1:"), said
        yield process, said.split()[2]
    finally:
        process.kill()
        process.wait()


def post(address: str, body: Any) -> Any:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_sigterm_ends_it_cleanly_with_all_that_it_observed_saved(run: Path) -> None:
    with started(run) as (process, address):
        assert post(f"{address}events", {"events": [event(200), event(201)]})["events"] == 202
        idle = HTTPConnection(address.split("/")[2])  # a client that stays connected holds nothing up
        idle.request("GET", "/health")
        assert idle.getresponse().read() == b'{"status":"ok"}'
        process.send_signal(signal.SIGTERM)
        said, complained = process.communicate(timeout=20)
        idle.close()
    assert process.returncode == 0
    assert said == "saved with 202 events\n"
    assert complained == ""
    (run / "live" / "journal").unlink()  # what was saved is enough
    with Predictor(run) as again:
        assert again.size == 202


def test_what_was_acknowledged_outlives_a_kill(run: Path) -> None:
    with started(run) as (process, address):
        for number in range(5):
            post(f"{address}events", {"events": [event(200 + number)]})
        process.kill()
        process.wait()
    with Predictor(run) as again:
        assert again.size == 205


def test_a_port_that_is_taken_is_told_before_the_run_is_opened(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "no/such/run", "--port", port]) == 2
    sentence = capsys.readouterr().err
    assert f"cannot listen at 127.0.0.1, port {port} (address already in use); choose others by" in sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["serve"], "no run given; name the folder that train wrote"),
        (["serve", "no/such/run", "--port", "0"], "no/such/run holds no run"),
        (["serve", "RUN", "--port", "99999"], "port is 99999; it must be from 0 to 65535"),
        (["serve", "RUN", "--port", "http"], "port"),
        (["serve", "RUN", "--host", "no.such.host.invalid", "--port", "0"], "cannot listen at no.such.host.invalid"),
        (["serve", "RUN", "--host", "h" * 100, "--port", "0"], "cannot listen at hhh"),
        (["serve", "RUN", "--prot", "1"], "did you mean '--port'?"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert shown.count("\n") == 1


def test_an_empty_key_is_refused_as_it_would_let_everyone_in(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHRONOLINK_API_KEY", " ")
    assert main(["serve", str(run), "--port", "0"]) == 2
    assert "CHRONOLINK_API_KEY is empty; set it to a key, or unset it" in capsys.readouterr().err


def test_what_is_not_installed_is_said_to_be(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else find_spec(name))
    assert main(["serve", str(run)]) == 2
    assert "uvicorn is not installed; pip install 'chronolink[serve]'" in capsys.readouterr().err


def test_it_listens_to_this_machine_alone_unless_told_and_then_warns_where_there_is_no_key(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str | None, str]] = []

    def begin(_: str, key: str | None, listener: socket.socket) -> None:
        with listener:
            begun.append((key, listener.getsockname()[0]))

    monkeypatch.setattr(serve, "_serve", begin)
    monkeypatch.delenv("CHRONOLINK_API_KEY", raising=False)
    warned = []
    for host in ([], ["--host", "0.0.0.0"], ["--host", "localhost"]):
        assert main(["serve", str(run), "--port", "0", *host]) == 0
        warned.append("can read and append events" in " ".join(capsys.readouterr().err.split()))
    monkeypatch.setenv("CHRONOLINK_API_KEY", "secret")
    assert main(["serve", str(run), "--port", "0", "--host", "0.0.0.0"]) == 0
    assert capsys.readouterr().err == ""
    assert warned == [False, True, False]
    assert [host for _, host in begun][:2] == ["127.0.0.1", "0.0.0.0"]
    assert [key for key, _ in begun] == [None, None, None, "secret"]


def test_another_name_for_this_machine_is_refused_without_a_key(run: Path) -> None:
    with started(run) as (_, address):
        for host, status in (("evil.example", 403), ("localhost:1", 200), ("[::1]", 200), ("[", 403)):
            connection = HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=60)
            connection.request("GET", "/about", headers={"Host": host})
            assert connection.getresponse().status == status, host
            connection.close()
