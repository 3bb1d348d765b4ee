"""Answers from the command line: rank, predict, observe, explain"""

from __future__ import annotations

import csv
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.image import imread

import chronolink
from chronolink.answers import Contribution, Explanation
from chronolink.cli import main
from chronolink.commands import explain, observe, predict, rank
from chronolink.errors import ChronolinkError
from chronolink.figures.explanation import draw
from chronolink.predictor import Predictor
from chronolink.readers.times import moment, shown

PEOPLE = ["alice", "bob", "carol", "dave", "erin", "frank"]
SHOPS = ["bakery", "butcher's, old", "café", '"deli"', "[bold]florist", "$gro_cer{$"]
BEGUN = datetime(2024, 1, 1)
MIDST = "2024-01-01 04:00"
QUICK = ["--model.width", "16", "--model.neighbours", "5", "--time-encoder.width", "8", "--epochs", "1"]
Shown = pytest.CaptureFixture[str]


def write_rows(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def events(first: int, last: int) -> list[list[Any]]:
    """An event every minute and a half; each person goes to two shops, and to one of them more often."""
    rows = []
    for number in range(first, last):
        draw = random.Random(number)
        person = draw.randrange(6)
        when = (BEGUN + timedelta(seconds=90 * number)).isoformat()
        rows.append([PEOPLE[person], SHOPS[(person + draw.choice([0, 0, 1])) % 6], when, number % 5])
    return rows


COLUMNS = ["who", "whom", "when", "amount"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small trained run over names and ISO dates; no test changes it."""
    folder = tmp_path_factory.mktemp("answers")
    log = write_rows(folder / "log.csv", COLUMNS, events(0, 400))
    flags = ["--source", "who", "--destination", "whom", "--time", "when", "--edge-features", "amount"]
    assert main(["train", str(log), *flags, *QUICK, "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may change."""
    return Path(shutil.copytree(run, tmp_path / "own"))


@pytest.fixture
def answer(capsys: Shown) -> Callable[..., Any]:
    """Runs a command and returns what it prints."""

    def ask(*words: object) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return ask


Answer = Callable[..., str]


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_one_node_gets_a_table_of_names(run: Path, answer: Answer) -> None:
    table = answer("rank", run, "--node", "alice", "--top", "12")
    assert "alice, after 2024-01-01 09:58:30" in table
    assert all(shop in table for shop in SHOPS)
    assert not any(person in table.partition("\n")[2] for person in PEOPLE)


def test_a_rank_is_the_order_of_the_scores(run: Path, tmp_path: Path, answer: Answer) -> None:
    """The slow twin: every pair is scored by itself, then sorted."""
    ranks = json.loads(answer("rank", run, "--node", "bob", "--at", MIDST, "--top", "4", "--json"))
    pairs = write_rows(tmp_path / "pairs.csv", ["who", "whom"], [["bob", shop] for shop in SHOPS])
    scored = parsed(answer("predict", run, "--pairs", pairs, "--at", MIDST))
    best = sorted(scored, key=lambda row: -float(row["score"]))[:4]
    assert [row["candidate"] for row in ranks] == [row["whom"] for row in best]
    assert [row["rank"] for row in ranks] == [1, 2, 3, 4]
    for name in ("score", "probability"):
        assert [row[name] for row in ranks] == pytest.approx([float(row[name]) for row in best], abs=1e-6)


def test_when_a_candidate_was_last_met_lies_strictly_before_the_asked_time(run: Path, answer: Answer) -> None:
    known = [(row[0], row[1], datetime.fromisoformat(row[2])) for row in events(0, 400)]
    for source, _, time in known[200:212]:
        for row in json.loads(answer("rank", run, "--node", source, "--at", time.isoformat(), "--json")):
            met = [t for s, d, t in known if {s, d} == {source, row["candidate"]} and t < time]
            assert row["last_met"] == (max(met).isoformat(sep=" ") if met else None)


def test_what_happens_later_changes_no_earlier_rank(own: Path, tmp_path: Path, answer: Answer) -> None:
    question = ("rank", own, "--node", "erin", "--at", "2024-01-01 10:00", "--json")
    before = answer(*question)
    new = write_rows(tmp_path / "new.csv", COLUMNS, events(400, 420))
    answer("observe", own, new)
    assert answer(*question) == before
    assert answer(*question[:4], "--json") != before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("names.txt", "carol\n\n  alice \r\n"),
        ("names", "\ufeffcarol\nalice\ncarol"),
        ("names.csv", "person\ncarol\nalice\n"),
        ("names.csv", "node,age\ncarol,3\nalice,4\n"),
        ("names.tsv", "age\tperson\n3\tcarol\n4\talice\n"),
    ],
)
def test_names_come_a_line_or_in_a_column(run: Path, tmp_path: Path, answer: Answer, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    column = ["--column", "person"] if name.endswith("tsv") else []
    rows = parsed(answer("rank", run, "--nodes", tmp_path / name, *column, "--top", "2"))
    assert [(row["node"], row["rank"]) for row in rows] == [
        ("carol", "1"),
        ("carol", "2"),
        ("alice", "1"),
        ("alice", "2"),
    ]


def test_candidates_are_all_seen_or_of_a_file(run: Path, tmp_path: Path, answer: Answer) -> None:
    def names(candidates: object) -> set[str]:
        found = answer("rank", run, "--node", "alice", "--candidates", candidates, "--top", "99", "--json")
        return {row["candidate"] for row in json.loads(found)}

    (tmp_path / "few.txt").write_text("café\nbob\n")
    assert names("all") == set(SHOPS)
    assert names("seen") == {row[1] for row in events(0, 400) if row[0] == "alice"} < set(SHOPS)
    assert names(tmp_path / "few.txt") == {"café", "bob"}


def test_all_are_those_that_were_a_source_before(run: Path, answer: Answer) -> None:
    assert {row["node"] for row in parsed(answer("rank", run, "--all", "--top", "1"))} == set(PEOPLE)
    early = parsed(answer("rank", run, "--all", "--top", "1", "--at", events(2, 3)[0][2]))
    assert {row["node"] for row in early} == {row[0] for row in events(0, 2)}


def test_the_rows_are_the_same_in_every_kind_of_file_and_batch(
    run: Path, tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answer("rank", run, "--all", "--top", "5")
    monkeypatch.setattr(rank, "AT_ONCE", 7)
    for suffix in ("csv", "parquet", "jsonl"):
        assert answer("rank", run, "--all", "--top", "5", "--out", tmp_path / "new" / f"ranks.{suffix}") == ""
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["ranks.csv", "ranks.jsonl", "ranks.parquet"]
    assert (tmp_path / "new" / "ranks.csv").read_text() == whole
    lines = [json.loads(line) for line in (tmp_path / "new" / "ranks.jsonl").read_text().splitlines()]
    assert lines == pl.read_parquet(tmp_path / "new" / "ranks.parquet").to_dicts()
    texts = [{key: "" if value is None else str(value) for key, value in row.items()} for row in lines]
    assert texts == parsed(whole)
    assert len(lines) == 30


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_an_error_midway_leaves_the_old_file_and_nothing_else(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    out = tmp_path / f"ranks.{suffix}"
    out.write_text("old")
    monkeypatch.setattr(rank, "AT_ONCE", 2)
    honest, asked = Predictor.rank, list[str]()

    def tired(self: Predictor, node: str, *rest: Any) -> Any:
        asked.append(node)
        if len(asked) > 3:
            raise ChronolinkError("tired")
        return honest(self, node, *rest)

    monkeypatch.setattr(Predictor, "rank", tired)
    assert main(["rank", str(run), "--all", "--out", str(out)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.read_text() == "old"


def test_pairs_keep_their_columns_and_get_scores(run: Path, tmp_path: Path, answer: Answer) -> None:
    rows = [["007", "alice", SHOPS[1], ""], ["8", "bob", SHOPS[3], 'a "word"']]
    pairs = write_rows(tmp_path / "pairs.csv", ["id", "who", "whom", "note"], rows)
    found = parsed(answer("predict", run, "--pairs", pairs))
    assert [list(row.values())[:4] for row in found] == rows
    with chronolink.open(run) as predictor:
        scored = predictor.score(["alice", "bob"], [SHOPS[1], SHOPS[3]])
    assert [float(row["score"]) for row in found] == scored.score.tolist()
    assert [float(row["probability"]) for row in found] == scored.probability.tolist()


def test_a_column_of_times_asks_as_at_does(run: Path, tmp_path: Path, answer: Answer) -> None:
    times = [MIDST, "2024-01-01T09:00:00Z"]
    timed = write_rows(tmp_path / "timed.csv", ["who", "whom", "when"], [["alice", "café", time] for time in times])
    plain = write_rows(tmp_path / "plain.csv", ["who", "whom"], [["alice", "café"]])
    together = [row["score"] for row in parsed(answer("predict", run, "--pairs", timed))]
    alone = [parsed(answer("predict", run, "--pairs", plain, "--at", time))[0]["score"] for time in times]
    assert together[0] != together[1]
    assert [float(score) for score in together] == pytest.approx([float(score) for score in alone], abs=1e-6)


def test_columns_may_be_called_otherwise(run: Path, tmp_path: Path, answer: Answer) -> None:
    rows = [["alice", "café", MIDST]]
    same = write_rows(tmp_path / "same.csv", ["who", "whom", "when"], rows)
    other = write_rows(tmp_path / "other.csv", ["a", "b", "c"], rows)
    flags = ["--source", "a", "--destination", "b", "--time", "c"]
    found = [answer("predict", run, "--pairs", same), answer("predict", run, "--pairs", other, *flags)]
    assert parsed(found[0])[0]["score"] == parsed(found[1])[0]["score"]


def test_scored_pairs_are_the_same_in_every_kind_of_file_and_batch(
    run: Path, tmp_path: Path, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [{"who": row[0], "whom": row[1], "amount": row[3], "list": [1, None]} for row in events(0, 23)]
    pl.DataFrame(pairs).write_parquet(tmp_path / "pairs.parquet")
    words = ("predict", run, "--pairs", tmp_path / "pairs.parquet", "--out")
    answer(*words, tmp_path / "whole.parquet")
    monkeypatch.setattr(predict, "AT_ONCE", 5)
    answer(*words, tmp_path / "batches.parquet")
    answer(*words, tmp_path / "batches.jsonl")
    whole = pl.read_parquet(tmp_path / "whole.parquet")
    assert whole.drop("score", "probability").to_dicts() == pairs
    batches = pl.read_parquet(tmp_path / "batches.parquet")
    assert batches.drop("score", "probability").to_dicts() == pairs
    assert np.allclose(whole["score"], batches["score"], atol=1e-6)
    lines = [json.loads(line) for line in (tmp_path / "batches.jsonl").read_text().splitlines()]
    assert lines == batches.to_dicts()
    assert main([str(word) for word in (*words, tmp_path / "nested.csv")]) == 2
    assert not list(tmp_path.glob("*nested*"))


def test_new_events_are_there_for_good(own: Path, tmp_path: Path, answer: Answer) -> None:
    new = write_rows(tmp_path / "new.csv", COLUMNS, [["zoe", "café", "2024-01-02", 1], *events(400, 403)])
    said = answer("observe", own, new)
    assert said == "new events: 4; the last is at 2024-01-02 00:00:00; events in all: 404\n"
    ranks = json.loads(answer("rank", own, "--node", "zoe", "--candidates", "seen", "--json"))
    assert [(row["candidate"], row["last_met"]) for row in ranks] == [("café", "2024-01-02 00:00:00")]
    again = json.loads(
        answer("observe", own, write_rows(tmp_path / "b.csv", COLUMNS, [["a", "b", "2024-01-03", 1]]), "--json")
    )
    assert again == {"observed": 1, "last_time": "2024-01-03 00:00:00", "events": 405}


def test_an_event_older_than_the_last_is_refused_and_none_is_taken_in(
    own: Path, tmp_path: Path, answer: Answer, capsys: Shown
) -> None:
    before = answer("rank", own, "--all")
    new = write_rows(tmp_path / "new.csv", COLUMNS, [*events(400, 403), *events(398, 399)])
    assert main(["observe", str(own), str(new)]) == 2
    assert "is older than the last one at 2024-01-01 09:58:30" in capsys.readouterr().err
    assert answer("rank", own, "--all") == before


def test_a_score_rests_on_the_events_without_which_it_changes(run: Path, answer: Answer) -> None:
    words = ("--source", "alice", "--destination", "bakery", "--at", MIDST, "--most", "6")
    found = json.loads(answer("explain", run, *words, "--json"))
    assert found["at"] == "2024-01-01 04:00:00"
    weights = [abs(event["weight"]) for event in found["events"]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 0
    assert all(event["source"] == "alice" or event["destination"] == "bakery" for event in found["events"])
    assert all(event["time"] < found["at"] for event in found["events"])
    with chronolink.open(run) as predictor:
        assert predictor.score(["alice"], ["bakery"], moment(MIDST)).score[0] == pytest.approx(found["score"], abs=1e-6)
    table = answer("explain", run, *words)
    assert f"probability {found['probability']:.4f}" in " ".join(table.split())
    assert table.count("2024-01-01") == 1 + len(weights)


@pytest.mark.parametrize(("suffix", "beginning"), [("png", b"\x89PNG"), ("PDF", b"%PDF")])
def test_an_explanation_is_drawn(run: Path, tmp_path: Path, answer: Answer, suffix: str, beginning: bytes) -> None:
    out = tmp_path / "new" / f"why.{suffix}"
    answer("explain", run, "--source", "dave", "--destination", "$gro_cer{$", "--out", out)
    assert out.read_bytes().startswith(beginning)
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("at", ["1e15", "1999-01-01", MIDST])
def test_any_time_and_a_node_alone_are_drawn(run: Path, tmp_path: Path, answer: Answer, at: str) -> None:
    answer("explain", run, "--source", "dave", "--destination", "dave", "--at", at, "--out", tmp_path / "why.pdf")
    assert (tmp_path / "why.pdf").exists()


def test_for_and_against_differ_in_grey_and_none_reaches_over_the_asked_time(tmp_path: Path) -> None:
    weighed = [Contribution("a", "b", 50.0, 1.0), Contribution("a", "b", 100.0, -1.0)]
    figure = draw(Explanation("a", "b", 100.0, 0.0, 0.5, weighed), {"a": [50.0, 100.0], "b": []}, False, str)
    area = figure.axes[0]
    up, down = area.containers[0][0], area.containers[1][0]  # type: ignore[index]
    assert (up.get_height(), down.get_height()) == (1.0, -1.0)
    assert down.get_x() + max(down.get_width(), 0) <= 100.0
    lightness = [np.mean(bar.get_facecolor()[:3]) for bar in (up, down)]
    assert lightness[1] > lightness[0] + 0.5
    assert down.get_hatch()
    figure.savefig(tmp_path / "a.png")
    assert imread(tmp_path / "a.png")[..., :3].std() > 0.05


def test_the_figure_of_an_explanation_imports_no_torch() -> None:
    program = (
        "import sys, types\n"
        "for name in ('chronolink', 'chronolink.figures'):\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "    sys.modules[name].__path__ = [sys.argv[1] + name.removeprefix('chronolink').replace('.', '/')]\n"
        "import chronolink.figures.explanation\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(Path(chronolink.__file__).parent)], check=True)


WRONG = [
    ("rank", [], "rank for whom? give one of --node NAME, --nodes FILE and --all"),
    ("rank", ["--node", "alice", "--all"], "rank for whom?"),
    ("rank", ["--node", "alcie"], "no node named 'alcie'; did you mean 'alice'?"),
    ("rank", ["--node", "-alice"], "no node named '-alice'"),
    ("rank", ["--node", "alice", "--at", "soon"], "'soon' is no time"),
    ("rank", ["--node", "alice", "--top", "0"], "top is 0; it must be 1 or more"),
    ("rank", ["--node", "alice", "--top", "ten"], "top"),
    ("rank", ["--node", "alice", "--out", "ranks.xls"], "--out ranks.xls is no .csv or .parquet or .jsonl file"),
    ("rank", ["--node", "alice", "--out", "folder.csv"], "--out folder.csv is a folder; name a file"),
    ("rank", ["--node", "alice", "--candidates", "none"], "no file 'none'"),
    (
        "rank",
        ["--node", "alice", "--candidates", "nodes.txt"],
        "nodes.txt, row 3: no node named 'bbo'; did you mean 'bob'?",
    ),
    ("rank", ["--nodes", "nodes.txt"], "nodes.txt, row 3: no node named 'bbo'; did you mean 'bob'?"),
    ("rank", ["--nodes", "nodes.tx"], "no file 'nodes.tx'; did you mean 'nodes.txt'?"),
    ("rank", ["--nodes", "blank.txt"], "blank.txt: no names; write one a line"),
    ("rank", ["--nodes", "binary.txt"], "binary.txt: not UTF-8 text"),
    ("rank", ["--nodes", "headless.csv"], "headless.csv: the header 'bob' is a node's name; write 'node' above it"),
    ("rank", ["--nodes", "pairs.csv"], "pairs.csv: no column 'node'; say with --column which one holds the names"),
    ("rank", ["--nodes", "pairs.csv", "--column", "whoo"], "no column 'whoo'; did you mean 'who'?"),
    ("rank", ["--all", "--json"], "--json prints one node's table"),
    ("predict", [], "no pairs given; name their file with --pairs"),
    ("predict", ["--pairs", "pairs.csv"], "pairs.csv, row 2: no node named 'caffé'; did you mean 'café'?"),
    ("predict", ["--pairs", "timed.csv"], "timed.csv, row 2: when is missing"),
    ("predict", ["--pairs", "timed.csv", "--at", "5"], "timed.csv: has times in column 'when'; leave out --at"),
    ("predict", ["--pairs", "counted.csv"], "counted.csv: when holds numbers, the run's events have dates; give dates"),
    ("predict", ["--pairs", "scored.csv"], "scored.csv: has a column 'score' already; rename it"),
    ("predict", ["--pairs", "other.csv"], "other.csv: no column 'who'; name one of its columns: 'a', 'b'"),
    ("predict", ["--pairs", "pairs.csv", "--out", "x.png"], "--out x.png is no .csv or .parquet or .jsonl file"),
    ("observe", [], "no events given; name their file after the run"),
    ("observe", ["pairs.csv", "more.csv"], "'more.csv' is one word too many; give one run and one events"),
    ("observe", ["nothing.csv"], "no file 'nothing.csv'"),
    ("observe", ["pairs.csv"], "pairs.csv: no column 'when'"),
    ("explain", ["--source", "alice"], "no destination given; name a node with --destination"),
    ("explain", ["--source", "alice", "--destination", "bakry"], "did you mean 'bakery'?"),
    ("explain", ["--source", "alice", "--destination", "bob", "--most", "0"], "most is 0; it must be 1 or more"),
    ("explain", ["--source", "alice", "--destination", "bob", "--out", "a.gif"], "--out a.gif is no .png or .pdf file"),
]
FILES = {
    "nodes.txt": b"alice\n\nbbo\n",
    "blank.txt": b" \n\n",
    "binary.txt": b"\xff\xfe\x00",
    "headless.csv": b"bob\nalice\n",
    "pairs.csv": "who,whom\nalice,café\nbob,caffé\n".encode(),
    "timed.csv": "who,whom,when\nalice,café,2024-01-01\nbob,café,\n".encode(),
    "counted.csv": "who,whom,when\nalice,café,5\n".encode(),
    "scored.csv": "who,whom,score\nalice,café,5\n".encode(),
    "other.csv": "a,b\nalice,café\n".encode(),
}


@pytest.mark.parametrize(("command", "words", "sentence"), WRONG, ids=[" ".join([c, *w]) for c, w, _ in WRONG])
def test_a_mistake_gets_one_sentence_and_exit_code_2(
    run: Path,
    command: str,
    words: list[str],
    sentence: str,
    capsys: Shown,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    assert main([command, str(run), *words]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, "folder.csv"}


@pytest.mark.parametrize("command", [rank, predict, observe, explain], ids=lambda command: command.__name__)
def test_a_run_is_needed(command: ModuleType, capsys: Shown) -> None:
    name = command.__name__.rpartition(".")[2]
    flags = {"rank": ["--all"], "predict": ["--pairs", "a.csv"], "explain": ["--source", "a", "--destination", "b"]}
    for run, sentence in (([], "no run given"), (["--run", "no/such/run"], "no/such/run holds no run")):
        events = ["--events", "a.csv"] if name == "observe" else []
        assert main([name, *run, *flags.get(name, []), *events]) == 2
        assert sentence in capsys.readouterr().err


def test_a_time_beyond_the_calendar_is_shown_as_a_number() -> None:
    assert shown(moment("2024-05-01"), True) == "2024-05-01 00:00:00"
    assert shown(1e300, True) == "1e+300"
    assert shown(1_700_000_000_000_123.0, False) == "1700000000000123"
