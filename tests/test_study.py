"""Studies: what they plan, what they keep, what they publish"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chronolink.catalogue import find, members
from chronolink.cli import main
from chronolink.errors import ChronolinkError
from chronolink.estimate import BESIDE, EPOCHS, Estimates
from chronolink.files import write_json
from chronolink.job import Job
from chronolink.jobs.training import TrainingJob
from chronolink.paper import DATA, published, selected, tables
from chronolink.publish import publish
from chronolink.studies._grid import paper_job
from chronolink.study import Scope, Study
from chronolink.training.options import Training
from tests.streams import random_graph


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file of events."""
    stream = random_graph(160, 12).events
    rows = zip(stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True)
    path = tmp_path / "log.csv"
    path.write_text("source,destination,time\n" + "".join(f"{a},{b},{t}\n" for a, b, t in rows))
    return path


def small(log: Path, seed: int = 1, **options: object) -> TrainingJob:
    training = Training(seed=seed, epochs=1, select_by="random,historical")
    return TrainingJob.of(str(log), "tgat", {"name": "linear", "width": 4}, {"width": 8, **options}, training)


def study(name: str) -> Study:
    return find("studies", name, Study)()


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("random-negatives", 4 * 3 * 6 * 5 + 4 * 6),
        ("historical-negatives", 4 * 3 * 6 * 5 + 4 * 6),
        ("cosine-or-sine-cosine", 4 * 2 * 6 * 5),
        ("time-or-position", 2 * 2 * 6 * 5),
        ("tgn-cawn", 2 * 2 * 4 * 5 + 4 * 4),
        ("time-width", 2 * 3 * 6 * 5),
        ("time-channel", 2 * 3 * 4 * 5),
        ("cost", 4 * 2 * 6),
        ("node-classification", 2 * 2 * 2 * 5),
        ("synthetic", 3 * 4 * 2 * 2),
        ("attention", 2 * 2),
    ],
)
def test_a_plan_is_the_product_of_the_papers_table(name: str, runs: int) -> None:
    names = [job.name for job in study(name).jobs(Scope())]
    assert len(names) == len(set(names)) == runs


def test_every_setting_of_the_paper_is_used() -> None:
    """All 184 rows: a job's options are those of its row."""
    found = 0
    for data in DATA:
        for model in ("tgat", "dygformer", "dygformer-separate", "dygdecoder", "tgn", "cawn"):
            for encoder in ("linear", "cosine", "cosine-scaled", "sine-cosine"):
                for criterion in ("random", "historical"):
                    options = selected(data, model, encoder, criterion)
                    if options is not None:
                        found += 1
                        job = paper_job(data, model, encoder, criterion, 1)
                        assert {"name": model.replace("-", "_"), **options} == job.settings["model"]
    assert found == 184


def test_one_run_serves_two_tables_where_the_paper_selected_the_same_settings() -> None:
    both = [paper_job("uci", "tgat", "linear", criterion, 1) for criterion in ("random", "historical")]
    assert both[0] == both[1]
    assert both[0].settings["select_by"] == "random,historical"
    other = [paper_job("uci", "dygdecoder", "linear", criterion, 1) for criterion in ("random", "historical")]
    assert [job.settings["select_by"] for job in other] == ["random", "historical"]
    assert [job.settings["model"]["channel"] for job in other] == [30, 50]


@pytest.mark.parametrize("name", ["random-negatives", "time-width", "attention", "cost", "node-classification"])
def test_what_is_asked_of_every_training_reaches_every_training(name: str) -> None:
    plain = study(name).jobs(Scope())
    asked = study(name).jobs(Scope(epochs=7, precision="bf16"))
    learnt = [job for job in asked if "time_encoder" in job.settings]
    assert learnt
    assert {job.settings["precision"] for job in learnt} == {"bf16"}
    assert {job.settings["epochs"] for job in learnt} == ({2} if name == "cost" else {7})
    assert len({job.name for job in plain + asked}) == len(plain) + len(learnt)


def test_a_table_says_in_which_precision_it_was_computed() -> None:
    for name in ("random-negatives", "time-width", "cost"):
        units = [
            study(name).findings(Scope(data=("uci",), precision=precision), Path("nowhere")).tables[0].unit
            for precision in ("no", "bf16")
        ]
        assert units[1] == f"{units[0]}, bf16"


def test_a_study_without_tables_writes_none(tmp_path: Path) -> None:
    publish({"attention": study("attention")}, Scope(data=("uci",)), tmp_path)
    assert [path.name for path in (tmp_path / "attention").iterdir()] == ["section.json"]


def test_the_page_is_about_all_that_was_published_into_the_folder(tmp_path: Path) -> None:
    for name in ("time-width", "attention", "time-width"):
        page = publish({name: study(name)}, Scope(data=("uci",)), tmp_path)
    assert re.findall(r'<section id="([^"]+)"', page.read_text()) == ["attention", "time-width"]


def test_a_section_that_is_none_is_named(tmp_path: Path) -> None:
    publish({"attention": study("attention")}, Scope(data=("uci",)), tmp_path)
    (tmp_path / "attention" / "section.json").write_text("{}")
    with pytest.raises(ChronolinkError, match="is no section of a page; publish its study again"):
        publish({"time-width": study("time-width")}, Scope(data=("uci",)), tmp_path)
    publish({"attention": study("attention")}, Scope(data=("uci",)), tmp_path)


def test_attention_is_drawn_and_tabled_of_runs_whose_weights_are_there(tmp_path: Path, log: Path) -> None:
    scope = Scope(data=(str(log),), models=("dygdecoder",), seeds=(1,), epochs=1)
    cosine, linear = study("attention").jobs(scope)
    cosine.perform(tmp_path)
    publish({"attention": study("attention")}, scope, tmp_path)
    with (tmp_path / "attention" / "results.csv").open() as file:
        found = list(csv.DictReader(file))
    assert linear.report(tmp_path) is None
    assert {row["time_encoder"] for row in found} == {"cosine"}
    assert [row["histories_of"] for row in found] == ["source"] * 4 + ["destination"] * 4
    assert all(0 < float(row["mean"]) <= 100 for row in found)
    assert len(list((tmp_path / "attention").glob("*.png"))) == 2


def test_studies_share_their_runs() -> None:
    scope = Scope(data=("uci",), models=("tgat",), seeds=(1,))
    shared = set.intersection(
        *(
            {job.name for job in study(name).jobs(scope)}
            for name in ("random-negatives", "time-or-position", "time-width")
        )
    )
    assert len(shared) == 1


def test_the_paper_saves_as_many_parameters_as_we_count() -> None:
    """43 % (TGAT), 38 % (DyGFormer on UCI) and 34 % (on US Legis) with linear time."""
    width = study("time-width").findings(Scope(data=("uci",)), Path("nowhere")).tables[1]
    channel = study("time-channel").findings(Scope(), Path("nowhere")).tables[1]
    kept = {row.labels: row.cells[-1].mean for table in (width, channel) for row in table.rows}
    left = {labels: round(100 - share) for labels, share in kept.items() if share is not None}
    assert left["uci", "linear"] == 38
    assert left["uslegis", "linear"] == 34
    assert [round(100 - cell.mean) for row in width.rows for cell in row.cells[2:] if cell.mean] == [43, 43]


def test_the_papers_numbers_stand_in_every_cell_of_its_tables() -> None:
    for name in ("random-negatives", "historical-negatives", "cosine-or-sine-cosine", "time-or-position", "cost"):
        for table in study(name).findings(Scope(), Path("nowhere")).tables:
            learnt = [row for row in table.rows if row.labels[0] != "nothing learnt"]
            assert all(cell.paper is not None for row in learnt for cell in row.cells), table.name
    assert published("test_ap_random_ns", "dygdecoder", "linear", "uci") == (97.38, 0.06)
    assert published("time_vs_position_test_ap_random_ns", "tgat", "position", "uci") == (79.09, 0.26)


def test_wins_of_the_paper_are_counted_as_the_paper_does() -> None:
    table = study("random-negatives").findings(Scope(), Path("nowhere")).tables[0]
    assert {row.labels[0]: row.paper_wins for row in table.rows if row.labels[1] == "linear"} == {
        "tgat": 4,
        "dygformer": 4,
        "dygformer-separate": 5,
        "dygdecoder": 6,
    }


def test_a_finished_job_is_known_by_its_settings_and_its_data(log: Path, tmp_path: Path) -> None:
    job = small(log)
    assert job.report(tmp_path) is None
    report = job.perform(tmp_path)
    assert job.report(tmp_path) == report
    assert small(log, dropout=0.5).report(tmp_path) is None
    assert small(log, seed=2).report(tmp_path) is None
    path = job.folder(tmp_path) / "report.json"
    path.write_text(json.dumps({**report, "data": {**report["data"], "digest": "another"}}))
    assert job.report(tmp_path) is None


def test_another_series_of_the_code_runs_anew(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = small(log).name
    monkeypatch.setattr("chronolink.job.series", lambda: "9.0")
    assert small(log).name != name


def test_why_a_job_broke_is_kept_until_it_succeeds(log: Path, tmp_path: Path) -> None:
    job = small(log, heads=5)
    with pytest.raises(Exception, match="cannot be shared by 5 heads"):
        job.perform(tmp_path)
    assert "cannot be shared by 5 heads" in str(job.error(tmp_path))
    sound = small(log)
    sound.perform(tmp_path)
    assert sound.error(tmp_path) is None


def run(*arguments: str) -> int:
    return main(["study", *arguments])


ONE = (
    "random-negatives",
    "--models",
    "tgat",
    "--time-encoders",
    "linear",
    "cosine",
    "--seeds",
    "1",
    "2",
    "--epochs",
    "1",
)


def test_a_study_is_run_published_and_not_run_twice(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "studies"
    assert run(*ONE, "--data", str(log), "--out", str(out)) == 0
    assert "0 of 8 runs are done already" in capsys.readouterr().err
    with (out / "random-negatives" / "results.csv").open() as file:
        assert [row["runs"] for row in csv.DictReader(file)] == ["2", "2", "1", "1", "1", "1"]
    assert "tgat" in (out / "random-negatives" / "random-negatives.md").read_text()
    assert "linear" in (out / "report.html").read_text()
    monkeypatch.setattr(TrainingJob, "run", None)  # nothing may be run
    assert run(*ONE, "--data", str(log), "--out", str(out)) == 0
    assert "8 of 8 runs are done already" in capsys.readouterr().err


def test_a_broken_run_is_listed_and_tried_again(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, sound = tmp_path / "studies", TrainingJob.run

    def brittle(job: TrainingJob, *arguments: object) -> object:
        if job.settings["seed"] == 2:
            raise ValueError("out of luck")
        return sound(job, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(TrainingJob, "run", brittle)
        assert run(*ONE, "--data", str(log), "--out", str(out)) == 0
    assert capsys.readouterr().err.count("broken: ValueError: out of luck") == 2
    assert "ValueError: out of luck" in (out / "report.html").read_text()
    assert run(*ONE, "--data", str(log), "--out", str(out)) == 0
    assert "6 of 8 runs are done already" in capsys.readouterr().err
    assert "out of luck" not in (out / "report.html").read_text()


def test_a_killed_run_goes_on_from_its_last_epoch(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(*_arguments: object) -> None:
        raise Killed

    whole = small(log)
    whole = TrainingJob({**whole.settings, "epochs": 3})
    expected = whole.perform(tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("chronolink.training.fit._Run.report", die)
        with pytest.raises(Killed):
            whole.perform(tmp_path / "broken")
    assert whole.report(tmp_path / "broken") is None
    found = whole.perform(tmp_path / "broken")
    assert {**found, "cost": None} == {**expected, "cost": None}


def test_the_plan_says_what_is_left_and_runs_nothing(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "studies"
    assert run(*ONE, "--data", str(log), "--out", str(out), "--plan") == 0
    assert "random-negatives" in capsys.readouterr().out
    assert not out.exists()


def test_an_estimate_counts_the_epochs_of_finished_runs_and_times_each_kind_once(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[str] = []
    monkeypatch.setattr("chronolink.estimate._epoch", lambda job: timed.append(job.title) or 10.0)
    long = {seed: TrainingJob({**small(log, seed).settings, "epochs": 100}) for seed in (1, 2)}
    assert Estimates(tmp_path).seconds(long[1]) == pytest.approx(EPOCHS * BESIDE * 10.0)
    small(log).perform(tmp_path)
    report = small(log).report(tmp_path)
    assert report is not None
    report |= {"settings": dict(long[1].settings), "epochs": report["epochs"] * 7}
    write_json(small(log).folder(tmp_path) / "report.json", report)
    timed.clear()
    estimates = Estimates(tmp_path)
    assert [estimates.seconds(job) for job in long.values()] == [pytest.approx(7 * BESIDE * 10.0)] * 2
    assert timed == [long[1].title]


def test_publishing_alone_runs_nothing(log: Path, tmp_path: Path) -> None:
    assert run(*ONE, "--data", str(log), "--out", str(tmp_path), "--publish") == 0
    assert not list(tmp_path.glob("runs/*"))
    assert "not run yet" in (tmp_path / "report.html").read_text()


def test_several_workers_give_what_one_gives(log: Path, tmp_path: Path) -> None:
    for workers in ("1", "2"):
        assert run(*ONE, "--data", str(log), "--out", str(tmp_path / workers), "--workers", workers) == 0
    texts = [(tmp_path / workers / "random-negatives" / "results.csv").read_text() for workers in ("1", "2")]
    assert texts[0] == texts[1]


def test_what_cannot_run_here_is_said_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHRONOLINK_CACHE", str(tmp_path / "cache"))
    assert run("node-classification", "--seeds", "1", "--out", str(tmp_path)) == 0
    assert "left out: wikipedia is not on disk" in " ".join(capsys.readouterr().err.split())
    assert "wikipedia is not on disk" in (tmp_path / "report.html").read_text()


def test_waiting_times_are_those_of_the_split(tmp_path: Path) -> None:
    assert run("waiting-times", "--out", str(tmp_path)) == 0
    found = json.loads((tmp_path / "waiting-times" / "results.json").read_text())
    means = [round(record["mean"], 2) for record in found]
    assert means[:4] == [269.66, 3.92, 443.17, 9.33]
    assert found[0]["paper_mean"] == tables()["uci_waiting_time_minutes"]["train"]["source_mean"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["random-negative"], "did you mean 'random-negatives'"),
        ([], "which study?"),
        (["all", "--workers", "0"], "workers is 0"),
        (["all", "--time-encoders", "liner"], "did you mean 'linear'"),
        (["all", "--models", "tgta"], "did you mean 'tgat'"),
        (["all", "--data", "nosuch"], "no data set named 'nosuch'"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_every_study_has_a_title_and_says_what_it_is() -> None:
    for name in members("studies"):
        assert study(name).title
        assert study(name).about.endswith(".")
        assert all(isinstance(job, Job) for job in study(name).jobs(Scope()))


def test_a_study_killed_and_started_again_loses_nothing_and_repeats_nothing(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = (*ONE[:-1], "6", "--data", str(log))
    assert run(*longer, "--out", str(tmp_path / "whole")) == 0
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "chronolink", "study", *longer, "--out", str(out)]
    begun = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})  # more threads round otherwise
    while not (kept := list(out.glob("runs/*-tgat-*/report.json"))) or len(list(out.glob("runs/*-tgat-*"))) == len(
        kept
    ):
        assert begun.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    begun.kill()
    begun.wait()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/report.json")}
    assert 4 < len(finished) < 8
    capsys.readouterr()
    assert run(*longer, "--out", str(out)) == 0
    assert f"{len(finished)} of 8 runs are done already" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    texts = [(tmp_path / name / "random-negatives" / "results.json").read_text() for name in ("whole", "killed")]
    assert texts[0] == texts[1]


def test_a_report_from_a_machine_with_other_disks_is_kept_here(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, sound = tmp_path / "elsewhere", TrainingJob.perform
    monkeypatch.setattr(TrainingJob, "perform", lambda job, _out, watcher: sound(job, elsewhere, watcher))
    assert run(*ONE, "--data", str(log), "--out", str(tmp_path / "here")) == 0
    assert len(list((tmp_path / "here").glob("runs/*/report.json"))) == 8
