"""The examples run, here with a small setting"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    words = [name, "--events", "600", "--epochs", "1", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", words)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_the_recommender_recommends_by_name_and_takes_an_edit_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run("recommender.py", tmp_path, monkeypatch, capsys)
    assert "600 edits" in shown
    assert all(model in shown for model in ("popularity", "recency", "tgat"))
    recommended = shown.splitlines()[-1].partition(": ")[2].split(", ")
    assert len(recommended) == 5
    assert all(name.startswith("page ") for name in recommended)


def test_the_email_network_answers_by_name_and_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run("email_network.py", tmp_path, monkeypatch, capsys)
    assert "600 e-mails among" in shown
    assert "last wrote 200" in shown
    assert "it rests most on" in shown
    assert "an answer a minute later: 0." in shown


def test_there_is_an_example_a_test() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == ["email_network.py", "recommender.py"]
