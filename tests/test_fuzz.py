"""Whatever comes in: an answer or one sentence

CHRONOLINK_FUZZ=10000 tries so many examples in all, other ones every time; without it a thousand, always the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st

from chronolink.catalogue import members
from chronolink.cli import main
from chronolink.commands._answers import read_nodes
from chronolink.errors import ChronolinkError
from chronolink.files import write_whole
from chronolink.names import Names
from chronolink.new_events import Layout, NewEvents
from chronolink.read import read_events
from chronolink.readers.times import moment, shown
from tests.oddities import CELLS, CONTENT, SUFFIXES, WORDS, frames, tables

LONG = "CHRONOLINK_FUZZ" in os.environ
TRIED = int(os.environ.get("CHRONOLINK_FUZZ", "1000"))
SECONDS = 60  # that one example may take


def tries(share: int) -> Any:
    """So many of a thousand examples are a property's own."""
    return settings(
        max_examples=max(1, TRIED * share // 1000),
        derandomize=not LONG,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@contextlib.contextmanager
def no_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def answered(ask: Callable[[], Any]) -> Any:
    """The answer, or None for one sentence; anything else fails the test."""
    with no_hang():
        try:
            return ask()
        except ChronolinkError as error:
            assert str(error).strip()  # noqa: PT017
            return None


def told(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command; a refusal is one sentence."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    with no_hang(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stopped:  # --help and --print-config
            code = int(stopped.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    shown_out, shown_err = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    assert code in (0, 2)
    assert "Traceback" not in shown_err
    if code == 2:
        assert shown_err.splitlines()[-1].startswith("chronolink: ")
        assert shown_err.count("chronolink: ") == 1 + shown_err.count("sorted by time")
    return code, shown_out, shown_err


@given(
    CONTENT, SUFFIXES, st.sampled_from([(), "weight", "*", "w*", ["time"]]), st.sampled_from([None, "weight", "time"])
)
@example(b"source,destination,time\na,b,1\nb,a,2\n", ".csv", (), None)
@tries(200)
def test_any_file_is_a_graph_or_a_sentence(content: bytes, suffix: str, features: Any, label: str | None) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"events{suffix}"
        path.write_bytes(content)
        graph = answered(lambda: read_events(path, edge_features=features, label=label))
    event("refused" if graph is None else "read")
    if graph is not None:
        assert bool((graph.events.time[1:] >= graph.events.time[:-1]).all())
        assert int(torch.maximum(graph.events.source, graph.events.destination).max()) < graph.num_nodes
        assert bool(graph.edge_features.isfinite().all())
        assert graph.names is None or len(set(graph.names)) == len(graph.names) == graph.num_nodes


KNOWN = Names(["alice", "bob", "café", "7", "node"])
NAMED = [["node"], ["name"], ["alice"], ["node", "time"], ["a", "b"]]


@given(
    st.one_of(tables(NAMED), tables(NAMED), st.binary(max_size=40)),
    SUFFIXES,
    st.sampled_from([None, "node", "age", ""]),
)
@tries(120)
def test_any_file_is_names_of_nodes_or_a_sentence(content: bytes, suffix: str, column: str | None) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"names{suffix}"
        path.write_bytes(content)
        names = answered(lambda: read_nodes(str(path), column, KNOWN))
    event("refused" if names is None else "read")
    if names is not None:
        assert names
        assert all(name in KNOWN for name in names)


KINDS = st.sampled_from(["polars", "lazy", "columns", "arrow", "pandas"])


def disguised(frame: pl.DataFrame, kind: str) -> Any:
    """The frame as another library has it, where that library can have it."""
    try:
        if kind == "pandas":
            return frame.to_pandas()
        return {"polars": frame, "lazy": frame.lazy(), "columns": frame.to_dict(as_series=False)}.get(
            kind, frame.to_arrow()
        )
    except Exception:  # of any of three libraries, about their own conversions
        assume(False)


@given(frames(), KINDS, st.sampled_from([(), "weight"]))
@tries(130)
def test_any_frame_is_a_graph_or_a_sentence(frame: pl.DataFrame, kind: str, features: Any) -> None:
    events = disguised(frame, kind)
    graph = answered(lambda: read_events(events, edge_features=features))
    event("refused" if graph is None else "read")
    assert graph is None or len(graph.events) <= frame.height


@given(frames(), KINDS, st.booleans(), st.booleans())
@tries(130)
def test_any_frame_is_new_events_or_a_sentence(frame: pl.DataFrame, kind: str, dated: bool, wide: bool) -> None:
    layout = Layout("source", "destination", "time", "weight" if wide else (), int(wide), dated)
    events = disguised(frame, kind)
    new = answered(lambda: layout.read(events))
    event("refused" if new is None else "read")
    if new is not None:
        again = NewEvents.from_bytes(new.as_bytes(), layout.width)
        assert [*again.source] == [*new.source]
        assert torch.equal(again.time, new.time)
        assert torch.equal(again.edge_features, new.edge_features)


@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.text(),
        st.lists(st.integers()),
        st.dictionaries(st.text(), st.lists(st.integers())),
    )
)
@tries(35)
def test_what_is_no_table_is_refused(junk: Any) -> None:
    answered(lambda: read_events(junk))


@given(
    st.one_of(
        st.text(), CELLS, st.floats(), st.integers(), st.datetimes().map(str), st.text(st.characters(categories=["Cs"]))
    )
)
@tries(100)
def test_any_word_is_a_moment_or_a_sentence(word: Any) -> None:
    time = answered(lambda: moment(word))
    for dated in (True, False) if time is not None else ():
        assert shown(time, dated)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    rows = [f"p{i * 7 % 9},q{(i * 7 + i % 2) % 9},{i}" for i in range(120)]
    (folder / "log.csv").write_text("\n".join(["source,destination,time", *rows]) + "\n")
    assert main(["train", str(folder / "log.csv"), "--model", "edgebank", "--out", str(folder / "run")]) == 0
    return folder / "run"


@contextlib.contextmanager
def desk(run: Path) -> Iterator[Path]:
    """A folder to stand in, with a copy of the run, files of all kinds and nothing else."""
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copytree(run, here / "run")
        (here / "empty").mkdir()
        (here / "pairs.csv").write_text("source,destination\np1,q1\np2,q7\n")
        (here / "new.csv").write_text("source,destination,time\np1,new,200\n")
        (here / "names.txt").write_text("p1\nq2\n")
        (here / "a.yaml").write_text("epochs: 3\n")
        (here / "junk").write_bytes(b"\xff\x00\xfe")
        os.chdir(here)
        try:
            yield here
        finally:
            os.chdir(before)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stub(*_: object, **__: object) -> Any:
    raise ChronolinkError("stopped here by the test")


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long, or goes out of the machine, stops at its door."""
    doors = {
        "train": ["fit"],
        "tune": ["Tuning"],
        "demo": ["fit"],
        "study": ["_run", "_show_plan", "publish"],
        "evaluate": ["verdicts"],
        "describe": ["draw"],
        "serve": ["_serve"],
        "explain": ["_draw"],
    }
    for command, names in doors.items():
        for name in names:
            monkeypatch.setattr(f"chronolink.commands.{command}.{name}", stub)
    monkeypatch.setattr("chronolink.commands.explain._draw", lambda _, __, out: write_whole(out, b"picture"))
    monkeypatch.setattr("chronolink.dataset.fetch", stub)

    def nowhere(host: str, *_: object, **__: object) -> Any:
        host.encode("idna")
        raise socket.gaierror(1, "nowhere")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)


def flags(command: str) -> list[str]:
    _, shown_out, _ = told([command, "--help"])
    return sorted({"--help", *re.findall(r"--[a-z][a-z.-]+", shown_out)})


@pytest.mark.parametrize("command", members("commands"))
@pytest.mark.usefixtures("no_work")
def test_any_words_are_answered(command: str, run: Path) -> None:
    import_module(f"chronolink.commands.{command}")
    own = st.sampled_from(flags(command))
    either = st.one_of(own, own, WORDS, WORDS, st.tuples(own, WORDS).map("=".join))
    pairs = st.tuples(own, WORDS).map(list)
    asked = st.one_of(
        st.lists(either, max_size=7), st.lists(pairs, max_size=4).map(lambda found: ["run", *chain(*found)])
    )

    @given(asked)
    @tries(195 // len(members("commands")))
    def property_of_words(words: list[str]) -> None:
        with desk(run) as here:
            before = files(here)
            code, _, _ = told([command, *words])
            after = files(here)
        event(f"exit code {code}")
        assert not [name for name in after if name.endswith(".part")]
        if code == 2:
            assert {name: content for name, content in after.items() if "live/journal" not in name} == before

    property_of_words()


@given(st.lists(WORDS, max_size=4))
@tries(25)
def test_any_first_word_is_answered(words: list[str]) -> None:
    assume(not words or words[0].strip().lower().replace("-", "_") not in members("commands"))
    told(words)


NODES = st.sampled_from([f"{side}{number}" for side in "pq" for number in range(9)])
PAIRS = [["source", "destination"], ["source", "destination", "time"], ["time", "destination", "source", "x"]]
OUT = st.sampled_from([".csv", ".jsonl", ".parquet"])


def rows(path: Path) -> int:
    if path.suffix == ".jsonl":
        return len([json.loads(line) for line in path.read_text().splitlines()])
    frame = pl.read_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.read_parquet(path)
    return frame.height


@given(tables(PAIRS, NODES), st.sampled_from([".csv", ".csv", ".tsv", ".parquet"]), OUT, st.booleans())
@example(b"source,destination,time\np1,q1,5\n", ".csv", ".csv", True)
@tries(30)
def test_any_pairs_are_scored_whole_or_not_at_all(run: Path, content: bytes, suffix: str, out: str, old: bool) -> None:
    with desk(run) as here:
        (here / f"asked{suffix}").write_bytes(content)
        answer = here / f"scored{out}"
        if old:
            answer.write_text("old")
        before = files(here)
        code, _, _ = told(["predict", "run", "--pairs", f"asked{suffix}", "--out", answer.name])
        after = files(here)
        event(f"exit code {code}")
        if code == 2:
            assert after == before
        else:
            assert {*after} == {*before, answer.name}
            assert rows(answer) >= 1


@given(tables(NAMED + PAIRS, NODES), SUFFIXES, OUT)
@tries(20)
def test_any_nodes_are_ranked_for_whole_or_not_at_all(run: Path, content: bytes, suffix: str, out: str) -> None:
    with desk(run) as here:
        (here / f"asked{suffix}").write_bytes(content)
        before = files(here)
        code, _, _ = told(["rank", "run", "--nodes", f"asked{suffix}", "--top", "2", "--out", f"ranks{out}"])
        after = files(here)
        event(f"exit code {code}")
        assert {*after} == ({*before} if code == 2 else {*before, f"ranks{out}"})
        if code == 0:
            assert rows(here / f"ranks{out}") >= 2


@given(tables([PAIRS[1], PAIRS[2]], NODES), st.sampled_from([".csv", ".csv", ".tsv", ".parquet"]))
@example(b"source,destination,time\nzoe,q1,500\n", ".csv")
@tries(15)
def test_any_events_are_observed_for_good_or_not_at_all(run: Path, content: bytes, suffix: str) -> None:
    question = ["rank", "run", "--node", "p1", "--top", "50", "--json"]
    with desk(run) as here:
        (here / f"new{suffix}").write_bytes(content)
        _, before, _ = told(question)
        code, said, _ = told(["observe", "run", f"new{suffix}", "--json"])
        again, after, _ = told(question)
        event(f"exit code {code}")
        assert again == 0
        if code == 2:
            assert after == before
        else:
            assert json.loads(said)["events"] == 120 + json.loads(said)["observed"]
