"""A run that is opened answers from all that was observed, and forgets nothing"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import torch

import chronolink
from chronolink import (
    ChronolinkError,
    EventStream,
    History,
    LinkQuery,
    Predictor,
    TemporalGraph,
    Training,
    build,
    fit,
    load,
)
from chronolink.answers import Ranked
from chronolink.journal import BEGINNING, Journal
from chronolink.readers.times import moment, shown
from tests.full_disk import full_disk
from tests.streams import random_graph

START = datetime(2024, 3, 1, tzinfo=UTC)
Event = tuple[str, str, str, float]  # source, destination, time, weight

ROUNDING = 1e-6  # of scores that were asked in other batches; where it shows depends on the CPU
MODELS = ["tgat", "dygformer", "cawn", "graphmixer", "recency"]


def log(count: int = 260, seed: int = 0) -> list[Event]:
    """E-mails between eight people, with dates."""
    people = ["ann", "bob", "Çelik", "dan o'neil", "eve", "fay, jr", "gil", "hal"]
    graph = random_graph(events=count, nodes=len(people), span=9e5, origin=0.0, seed=seed)
    stream = graph.events
    rows = zip(stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True)
    return [
        (people[source], people[destination], (START + timedelta(seconds=time)).isoformat(), float(number % 3))
        for number, (source, destination, time) in enumerate(rows)
    ]


def write(path: Path, events: Sequence[Event]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["from", "to", "when", "weight"])
        writer.writerows(events)
    return path


def read(path: Path) -> TemporalGraph:
    return load(path, source="from", destination="to", time="when", edge_features="weight")


def columns(events: Sequence[Event]) -> dict[str, list[object]]:
    return {name: [event[place] for event in events] for place, name in enumerate(["from", "to", "when", "weight"])}


EVENTS = log()
KNOWN, NEW = EVENTS[:200], EVENTS[200:]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One epoch of each model on the first events."""
    folder = tmp_path_factory.mktemp("runs")
    path = write(folder / "mail.csv", KNOWN)
    graph = read(path)
    for model in [*MODELS, "tgn"]:
        fit(build(model, graph), graph, Training(epochs=1), out=folder / model)
    return {model: folder / model for model in [*MODELS, "tgn"]}


@pytest.fixture
def run(runs: dict[str, Path], tmp_path: Path) -> Path:
    return copied(runs["tgat"], tmp_path)


def copied(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / f"copy-{len(list(tmp_path.iterdir()))}" / run.name))


PAIRS = (["ann", "bob", "hal", "eve"], ["bob", "gil", "hal", "ann"])


def scores(predictor: Predictor, at: float | None = None) -> list[float]:
    return predictor.score(*PAIRS, at).score.tolist()


def test_an_opened_run_scores_as_its_model_does(runs: dict[str, Path]) -> None:
    model, graph, _ = chronolink.RunFolder(runs["tgat"]).open()
    chronolink.RunFolder(runs["tgat"]).load_weights(model.eval())
    assert graph.names is not None
    ends = [torch.tensor([graph.names.index(name) for name in side]) for side in PAIRS]
    at = moment("2024-03-08 12:00")
    with torch.no_grad():
        wanted = model(LinkQuery(*ends, torch.full((4,), at, dtype=torch.float64)), History(graph))
    found = chronolink.open(runs["tgat"]).score(*PAIRS, at)
    assert found.score.tolist() == wanted.double().tolist()
    assert ((found.probability > 0) & (found.probability < 1)).all()


@pytest.mark.parametrize("model", MODELS)
def test_events_one_at_a_time_in_batches_and_loaded_at_once_give_the_same_scores(
    runs: dict[str, Path], model: str, tmp_path: Path
) -> None:
    found = []
    for batch in (1, 7, len(NEW)):
        with chronolink.open(copied(runs[model], tmp_path)) as predictor:
            for start in range(0, len(NEW), batch):
                assert predictor.observe(columns(NEW[start : start + batch])) == len(NEW[start : start + batch])
            found.append(scores(predictor))
    whole = load(
        write(tmp_path / "all.csv", EVENTS), source="from", destination="to", time="when", edge_features="weight"
    )
    opened, _, _ = chronolink.RunFolder(runs[model]).open()
    chronolink.RunFolder(runs[model]).load_weights(opened.eval())
    assert whole.names is not None
    ends = [torch.tensor([whole.names.index(name) for name in side]) for side in PAIRS]
    after = torch.nextafter(whole.events.time[-1], torch.tensor(torch.inf, dtype=torch.float64))
    with torch.no_grad():
        loaded = opened(LinkQuery(*ends, after.expand(4)), History(whole)).double().tolist()
    assert found[0] == found[1] == found[2] == loaded
    assert scores(chronolink.open(runs[model])) != found[0]


def test_a_memory_moves_the_same_by_the_same_batches(runs: dict[str, Path], tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        run = copied(runs["tgn"], tmp_path)
        with chronolink.open(run) as predictor:
            before = scores(predictor)
            for start in range(0, len(NEW), 20):
                predictor.observe(columns(NEW[start : start + 20]))
            found.append(scores(predictor))
        assert scores(chronolink.open(run)) == found[-1] != before
    assert found[0] == found[1]


@pytest.mark.parametrize("model", ["tgat", "tgn"])
def test_what_was_observed_is_there_when_the_run_is_opened_again(
    runs: dict[str, Path], model: str, tmp_path: Path
) -> None:
    run = copied(runs[model], tmp_path)
    with chronolink.open(run) as predictor:
        predictor.observe(columns(NEW[:30]))
        predictor.observe(columns([("zoe", "ann", NEW[29][2], 0.0)]))
        predictor.save()
        predictor.observe(columns([("zoe", "yan", NEW[30][2], 1.0), *NEW[30:]]))
        asked = (["zoe", "ann"], ["yan", "zoe"])
        wanted = predictor.score(*asked).score.tolist()
        ranked = predictor.rank("zoe", top=3)
    with chronolink.open(run) as again:
        assert again.score(*asked).score.tolist() == wanted
        assert again.rank("zoe", top=3) == ranked
        assert again.size == len(EVENTS) + 2
        assert again.past("zoe")[-1].destination == "yan"


def test_small_records_are_taken_in_together_when_a_run_is_opened(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chronolink.open(run) as predictor:
        before = predictor.history.version
        for event in [*NEW[:9], ("zoe", "ann", NEW[9][2], 0.0)]:
            predictor.observe(columns([event]))
        wanted = scores(predictor)
    monkeypatch.setattr("chronolink.new_events.TOGETHER", 4)
    with chronolink.open(run) as again:
        assert again.history.version == before + 3  # four, four and two
        assert scores(again) == wanted
        assert again.past("zoe")[0].destination == "ann"


def test_an_event_that_the_disk_has_no_room_for_is_refused_and_not_kept(run: Path) -> None:
    with chronolink.open(run) as predictor:
        predictor.observe(columns(NEW[:1]))
        size, journal = predictor.size, run / "live" / "journal"
        with full_disk(journal.stat().st_size + 20), pytest.raises(ChronolinkError, match="nothing was kept"):
            predictor.observe(columns(NEW[1:2]))
        assert predictor.size == size
    with chronolink.open(run) as again:
        assert again.size == size
        again.observe(columns(NEW[1:2]))
    assert chronolink.open(run).size == size + 1


def test_a_folder_that_cannot_be_written_is_one_sentence(run: Path) -> None:
    (run / "live").write_text("in the way")
    with pytest.raises(ChronolinkError, match="cannot be written"):
        chronolink.open(run).observe(columns(NEW[:1]))


def test_times_are_asked_as_dates_and_names_as_numbers_too(tmp_path: Path, run: Path) -> None:
    predictor = chronolink.open(run)
    at = moment("2024-03-08 12:00")
    assert predictor.rank("ann", "2024-03-08 12:00") == predictor.rank("ann", at)
    assert predictor.past("ann", "2024-03-08") == predictor.past("ann", moment("2024-03-08"))
    assert predictor.score(*PAIRS, "2024-03-08 12:00").score.tolist() == scores(predictor, at)
    with pytest.raises(ChronolinkError, match="'soon' is no time"):
        predictor.rank("ann", "soon")
    rows = "".join(f"{n % 5},{n % 7},{n}\n" for n in range(40))
    (tmp_path / "log.csv").write_text(f"source,destination,time\n{rows}")
    graph = load(tmp_path / "log.csv")
    fit(build("recency", graph), graph, Training(epochs=1), out=tmp_path / "numbers")
    numbers = chronolink.open(tmp_path / "numbers")
    assert numbers.rank(3) == numbers.rank("3")  # type: ignore[arg-type]
    with pytest.raises(ChronolinkError, match="no node named '99'"):
        numbers.rank(99)  # type: ignore[arg-type]


def test_a_time_that_is_none_is_said_to_be_so_in_the_first_row_too(run: Path) -> None:
    for text, words in (("soon", "neither a number nor an ISO date"), ("", "when is missing")):
        with pytest.raises(ChronolinkError, match=f"row 1: .*{words}"):
            chronolink.open(run).observe(columns([("ann", "bob", text, 0.0)]))


def test_a_saved_run_needs_neither_replay_nor_the_log(tmp_path: Path) -> None:
    source = write(tmp_path / "mail.csv", KNOWN)
    graph = read(source)
    fit(build("tgat", graph), graph, Training(epochs=1), out=tmp_path / "run")
    with chronolink.open(tmp_path / "run") as predictor:
        predictor.observe(columns(NEW))
        predictor.save()
        wanted = scores(predictor)
    source.unlink()
    with chronolink.open(tmp_path / "run") as predictor:
        assert scores(predictor) == wanted
        assert predictor.dated
        predictor.observe(columns([NEW[-1]]))


def test_events_without_features_and_with_numbers_for_names_and_times_are_kept(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "source,destination,time\n" + "".join(f"{n % 5},{n % 7},{n}\n" for n in range(40))
    )
    graph = load(tmp_path / "log.csv")
    fit(build("recency", graph), graph, Training(epochs=1), out=tmp_path / "run")
    with chronolink.open(tmp_path / "run") as predictor:
        predictor.observe({"source": [3, 11], "destination": [4, 3], "time": [40, 41.5]})
    with chronolink.open(tmp_path / "run") as predictor:
        assert predictor.past("11")[0].time == 41.5
        predictor.save()
    with chronolink.open(tmp_path / "run") as predictor:
        assert [event.source for event in predictor.past("3")[-2:]] == ["3", "11"]
        assert not predictor.dated


def test_a_state_that_is_damaged_is_left_aside(run: Path) -> None:
    with chronolink.open(run) as predictor:
        predictor.observe(columns(NEW))
        predictor.save()
        wanted = scores(predictor)
    (run / "live" / "state.safetensors").write_bytes(b"torn")
    assert scores(chronolink.open(run)) == wanted


def test_the_future_is_invisible(run: Path) -> None:
    at = moment(NEW[0][2])
    with chronolink.open(run) as predictor:
        before = scores(predictor, at), predictor.rank("ann", at), predictor.past("ann", at)
        explained = predictor.explain("ann", "bob", at)
        predictor.observe(columns(NEW))
        assert (scores(predictor, at), predictor.rank("ann", at), predictor.past("ann", at)) == before
        assert predictor.explain("ann", "bob", at) == explained


def test_a_memory_is_not_asked_about_the_past(runs: dict[str, Path]) -> None:
    predictor = chronolink.open(runs["tgn"])
    assert len(scores(predictor, predictor.last_time)) == 4
    with pytest.raises(ChronolinkError, match=r"lies before the last event at 2024-03-.*what comes next"):
        scores(predictor, predictor.last_time - 1)


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([("ann", "bob", "2024-03-01", 0.0)], "2024-03-01 00:00:00 is older than the last one"),
        ([NEW[5], ("ann", "bob", "2024-03-02", 0.0)], "older than the last one"),
        ([("ann", "bob", "1709251200", 0.0)], "when holds numbers, the run's events have dates"),
        ([("ann", "", NEW[5][2], 0.0)], "to is missing"),
        ([("ann", "bob", "1082008561", 0.0)], "holds numbers"),
        ([("ann", "bob", NEW[5][2], float("nan"))], "weight is not a number"),
    ],
)
def test_bad_events_are_refused_with_the_reason_and_change_nothing(
    run: Path, events: list[Event], complaint: str
) -> None:
    with chronolink.open(run) as predictor:
        before, size = scores(predictor), predictor.size
        with pytest.raises(ChronolinkError, match=complaint):
            predictor.observe(columns(events))
        assert (scores(predictor), predictor.size) == (before, size)
    assert chronolink.open(run).size == size


def test_events_without_their_features_are_refused(run: Path) -> None:
    with pytest.raises(ChronolinkError, match="no column 'weight'"):
        chronolink.open(run).observe({"from": ["ann"], "to": ["bob"], "when": [NEW[0][2]]})


def test_an_unknown_name_is_refused_with_a_guess(run: Path) -> None:
    predictor = chronolink.open(run)
    with pytest.raises(ChronolinkError, match=r"no node named 'anne'; did you mean 'ann'\?"):
        predictor.rank("anne")
    with pytest.raises(ChronolinkError, match="no node named 'zorro'"):
        predictor.score(["zorro"], ["ann"])


def test_pairs_and_times_must_match(run: Path) -> None:
    predictor = chronolink.open(run)
    with pytest.raises(ChronolinkError, match="2 sources and 1 destinations"):
        predictor.score(["ann", "bob"], ["ann"])
    with pytest.raises(ChronolinkError, match="2 pairs and 3 times"):
        predictor.score(["ann", "bob"], ["ann", "bob"], [1.0, 2.0, 3.0])
    with pytest.raises(ChronolinkError, match="not a number"):
        predictor.score(["ann"], ["bob"], float("nan"))


def the_same(found: list[Ranked], expected: list[Ranked]) -> None:
    assert [(row.name, row.last_met) for row in found] == [(row.name, row.last_met) for row in expected]
    for number in ("score", "probability"):
        values = ([getattr(row, number) for row in rows] for rows in (found, expected))
        assert next(values) == pytest.approx(next(values), abs=ROUNDING)


def test_a_ranking_is_the_sorted_scores_of_all_candidates(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chronolink.open(run) as predictor:
        at = moment("2024-03-09")
        ranked = predictor.rank("ann", at, top=100)
        names = [row.name for row in ranked]
        found = predictor.score(["ann"] * len(names), names, at)
        scores = [row.score for row in ranked]
        assert scores == sorted(scores, reverse=True)
        assert scores == pytest.approx(found.score.tolist(), abs=ROUNDING)
        assert [row.probability for row in ranked] == pytest.approx(found.probability.tolist(), abs=ROUNDING)
        destinations = {event[1] for event in KNOWN if moment(event[2]) < at}
        assert set(names) == destinations - ({"ann"} if ("ann", "ann") not in {e[:2] for e in KNOWN} else set())
        monkeypatch.setattr("chronolink.candidates.ASKED_AT_ONCE", 3)
        the_same(predictor.rank("ann", at, top=100), ranked)
        monkeypatch.setattr("chronolink.candidates.KEPT", 3)
        the_same(predictor.rank("ann", at, top=100), ranked)
        the_same(predictor.rank("ann", at, top=2), ranked[:2])
        chosen = predictor.rank("ann", at, candidates=["gil", "bob"])
        assert sorted(row.name for row in chosen) == ["bob", "gil"]


@pytest.mark.parametrize("model", [*MODELS, "tgn"])
def test_many_rankings_are_those_of_one_at_a_time(runs: dict[str, Path], model: str, tmp_path: Path) -> None:
    predictor, run = chronolink.open(runs[model]), copied(runs[model], tmp_path)
    together = {name: predictor.rank(name) for name in predictor.names.known}
    for name, ranked in together.items():
        names = [row.name for row in ranked]
        assert predictor.score([name] * len(names), names).score == pytest.approx([r.score for r in ranked], abs=1e-5)
    with chronolink.open(run) as other:
        other.rank("bob")
        other.observe(columns(NEW[:9]))
        assert other.rank("bob") == chronolink.open(run).rank("bob") != together["bob"]


def test_nodes_are_embedded_once_however_many_are_ranked(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor, embedded = chronolink.open(run), []
    embed = type(predictor.model).embed
    monkeypatch.setattr(
        type(predictor.model), "embed", lambda m, node, *rest: embedded.extend(node.tolist()) or embed(m, node, *rest)
    )
    for name in predictor.names.known:
        predictor.rank(name)
    assert len(embedded) == len(set(embedded)) == len(predictor.names)


def test_a_ranking_tells_when_a_pair_last_met_whoever_wrote(run: Path) -> None:
    at = moment("2024-03-09")
    for row in chronolink.open(run).rank("ann", at, top=100):
        met = [moment(e[2]) for e in KNOWN if {e[0], e[1]} == {"ann", row.name} and moment(e[2]) < at]
        assert row.last_met == (max(met) if met else None)


def test_seen_candidates_are_those_that_the_node_met(run: Path) -> None:
    at = moment("2024-03-01 03:00")
    met = {end for e in KNOWN if moment(e[2]) < at and "ann" in e[:2] for end in e[:2]}
    loops = ("ann", "ann") in {e[:2] for e in KNOWN if moment(e[2]) < at}
    names = {row.name for row in chronolink.open(run).rank("ann", at, top=99, candidates="seen")}
    assert names == (met if loops else met - {"ann"})


def test_the_past_of_a_node_is_its_latest_events(run: Path) -> None:
    at = moment("2024-03-07")
    wanted = [(e[0], e[1], moment(e[2])) for e in KNOWN if "bob" in e[:2] and moment(e[2]) < at]
    found = chronolink.open(run).past("bob", at, most=5)
    assert [(e.source, e.destination, e.time) for e in found] == wanted[-5:]


def test_an_explanation_is_what_the_score_loses_without_each_event(run: Path) -> None:
    at = moment("2024-03-09")
    with chronolink.open(run) as predictor:
        told = predictor.explain("ann", "bob", at, most=3)
        assert told.score == predictor.score(["ann"], ["bob"], at).score[0]
        graph, names = predictor.history.graph, predictor.names.known
        for part in told.events:
            place = next(
                p
                for p, (s, d, t) in enumerate(zip(*_columns(graph.events), strict=True))
                if (names[s], names[d], t) == (part.source, part.destination, part.time)
            )
            kept = torch.arange(len(graph.events)) != place
            query = LinkQuery(*predictor.names.find(["ann", "bob"]).view(2, 1), torch.tensor([at], dtype=torch.float64))
            with torch.no_grad():
                left = float(predictor.model(query, History(graph.cut(graph.events[kept]))))
            assert part.weight == pytest.approx(told.score - left, abs=1e-6)
    weights = [abs(part.weight) for part in told.events]
    assert weights == sorted(weights, reverse=True)
    assert 3 <= len(weights) <= 6
    assert max(weights) > 0


def _columns(stream: EventStream) -> tuple[list[int], list[int], list[float]]:
    return stream.source.tolist(), stream.destination.tolist(), stream.time.tolist()


def test_a_torn_write_is_dropped_wherever_it_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    records = [b"first", b"", b"third " * 5]
    for record in records:
        journal.append(record)
    whole = path.read_bytes()
    journal.close()
    ends = [len(BEGINNING) + sum(8 + len(record) for record in records[:count]) for count in range(4)]
    for size in range(len(BEGINNING), len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = sum(end <= size for end in ends) - 1
        torn = Journal(path)
        assert list(torn.unread()) == records[:kept]
        torn.append(b"next")
        torn.close()
        assert list(Journal(path).unread()) == [*records[:kept], b"next"]


def test_a_flipped_byte_ends_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.append(b"first")
    journal.append(b"second")
    journal.close()
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(bytes(content))
    assert list(Journal(path).unread()) == [b"first"]


def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("my diary, which nobody shall write over")
    with pytest.raises(ChronolinkError, match="is no journal"):
        list(Journal(tmp_path / "journal").unread())


APPENDING = """
import sys
import chronolink
with chronolink.open(sys.argv[1]) as predictor:
    predictor.observe({"from": ["ann"], "to": ["bob"], "when": ["2025-01-01"], "weight": [1.0]})
    print("observed", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_append_at_once_and_one_reads_what_the_other_wrote(run: Path) -> None:
    here = chronolink.open(run)
    with subprocess.Popen(
        [sys.executable, "-c", APPENDING, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "observed\n"
        with pytest.raises(ChronolinkError, match="another process appends to"):
            here.observe({"from": ["ann"], "to": ["bob"], "when": ["2025-01-02"], "weight": [1.0]})
        other.communicate("")
    here.observe({"from": ["ann"], "to": ["bob"], "when": ["2025-01-02"], "weight": [1.0]})
    assert [shown(event.time, True) for event in here.past("ann")[-2:]] == [
        "2025-01-01 00:00:00",
        "2025-01-02 00:00:00",
    ]


def test_a_run_without_weights_says_what_to_do(run: Path) -> None:
    (run / "model.safetensors").unlink()
    with pytest.raises(ChronolinkError, match="holds no weights yet"):
        chronolink.open(run)


def test_probabilities_use_the_calibration_of_the_report(run: Path) -> None:
    report = json.loads((run / "report.json").read_text())
    report["calibration"] = {"temperature": 2.0, "offset": -0.5}
    (run / "report.json").write_text(json.dumps(report))
    found = chronolink.open(run).score(*PAIRS)
    assert np.allclose(found.probability, 1 / (1 + np.exp(-(found.score + 0.5) / 2)), rtol=1e-12)


@pytest.mark.parametrize(("asked", "time"), [("12.5", 12.5), (7, 7.0), ("1970-01-02", 86400.0), (" 3e2 ", 300.0)])
def test_a_moment_is_a_number_or_a_date(asked: str | float, time: float) -> None:
    assert moment(asked) == time


@pytest.mark.parametrize("asked", ["", "tomorrow", "nan", "inf", "2024-13-01"])
def test_what_is_neither_is_refused(asked: str) -> None:
    with pytest.raises(ChronolinkError, match="is no time"):
        moment(asked)


def test_times_are_shown_as_they_were_given() -> None:
    assert shown(1082008561.0, False) == "1082008561"
    assert shown(1082008561.0, True) == "2004-04-15 05:56:01"
    assert shown(-0.5, True) == "1969-12-31 23:59:59.500000"
