"""A search is whole, goes on, and prunes"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
import yaml

from chronolink import ChronolinkError, Report, load
from chronolink.cli import main
from chronolink.training.space import named_in_full, paper_space, points
from chronolink.training.tuning import Point, Trial, Tuning
from chronolink.training.watch import Watch

optuna.logging.set_verbosity(optuna.logging.ERROR)
QUICK = ["--model.width", "8", "--model.neighbours", "3", "--time-encoder.width", "4", "--epochs", "2", "--seed", "3"]
SETTINGS = {
    "model": {"name": "tgat", "width": 8, "neighbours": 3},
    "time_encoder": {"name": "linear", "width": 4},
    "seed": 3,
    "epochs": 2,
    "min_epochs": 1,
}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All turn to three destinations, and a while later to others: a little can be learnt."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(20, (600,), generator=generator).tolist()
    destination = (20 + (torch.arange(600) // 60 + torch.randint(3, (600,), generator=generator)) % 20).tolist()
    path = tmp_path_factory.mktemp("events") / "events.csv"
    rows = [f"{a},{b},{60 * i}" for i, (a, b) in enumerate(zip(source, destination, strict=True))]
    path.write_text("\n".join(["source,destination,time", *rows]) + "\n")
    return path


def table(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((out / "trials.csv").read_text().splitlines()))


def write_space(folder: Path, **space: Any) -> list[str]:
    path = folder / "space.yaml"
    path.write_text(yaml.safe_dump(space))
    return ["--space", str(path)]


def tuning(events: Path, out: Path, **options: Any) -> Tuning:
    space = options.pop("space", {"model.dropout": [0.1, 0.3, 0.5]})
    return Tuning(load(str(events)), {**SETTINGS, **options.pop("settings", {})}, space, out, **options)


def outline(trials: list[Trial]) -> list[tuple[str, str, float | None]]:
    return sorted((str(trial.point), trial.state, trial.ap) for trial in trials)


def test_the_paper_s_grid_is_tried_once_and_the_best_trains(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "search"
    words = ["tune", str(events), "--model", "dygformer", "--model.length", "4", "--epochs", "1", "--out", str(out)]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "validation AP of 6 trials" in shown.out
    assert "[I " not in shown.err
    rows = table(out)
    tried = Counter((row["model.dropout"], row["model.channel"]) for row in rows)
    assert tried == Counter((dropout, channel) for dropout in ("0.1", "0.3", "0.5") for channel in ("30", "50"))
    assert {row["state"] for row in rows} == {"finished"}
    best = max(rows, key=lambda row: float(row["validation_ap"]))
    settings = yaml.safe_load((out / "best.yaml").read_text())
    assert str(settings["model"]["dropout"]) == best["model.dropout"]
    assert main(["train", "--config", str(out / "best.yaml"), "--out", str(tmp_path / "run")]) == 0
    report = Report.read(tmp_path / "run" / "report.json")
    assert report.selected["random"]["validation_ap"] == float(best["validation_ap"])
    before = (out / "study.db").read_bytes()
    assert main(words) == 0
    assert table(out) == rows
    assert len(before) == len((out / "study.db").read_bytes())


def test_a_space_is_read_from_a_file_and_trials_limit_it(events: Path, tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(
        "dropout: [0.1, 0.3]\nlearning_rate: [1e-3, 1e-4]\ntime-encoder.width: [4, 8]\nbatch-size: [100]\n"
    )
    out = tmp_path / "search"
    words = ["tune", str(events), *QUICK, "--space", str(tmp_path / "space.yaml"), "--out", str(out), "--epochs", "1"]
    assert main([*words, "--trials", "2"]) == 0
    first = table(out)
    assert main([*words, "--trials", "3"]) == 0
    rows = table(out)
    assert (len(first), len(rows)) == (2, 3)
    assert all(row in rows for row in first)
    assert {row["learning_rate"] for row in rows} <= {"0.001", "0.0001"}
    settings = yaml.safe_load((out / "best.yaml").read_text())
    assert settings["batch_size"] == 100
    assert settings["time_encoder"]["width"] in (4, 8)


def test_a_killed_search_goes_on_without_loss_or_repetition(events: Path, tmp_path: Path) -> None:
    space = write_space(tmp_path, dropout=[0.1, 0.2, 0.3, 0.4], learning_rate=[0.003])
    command = ["tune", str(events), *QUICK, *space, "--epochs", "12", "--out"]
    assert main([*command, str(tmp_path / "whole")]) == 0
    out = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-m", "chronolink", *command, str(out)], stderr=subprocess.DEVNULL)
    while not (out / "trials.csv").exists():
        assert process.poll() is None
        time.sleep(0.01)
    study = optuna.load_study(study_name="killed", storage=f"sqlite:///{out / 'study.db'}")
    while not any(trial.state.name == "RUNNING" for trial in study.trials):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = {trial.number: trial for trial in study.trials}
    states = Counter(trial.state.name for trial in left.values())
    assert states["COMPLETE"] >= 1
    assert states["RUNNING"] == 1
    assert main([*command, str(out)]) == 0
    for number, trial in left.items():
        if trial.state.is_finished():
            assert study.trials[number] == trial
    done = [row for row in table(out) if row["state"] in ("finished", "pruned")]
    compared = ("state", "model.dropout", "validation_ap", "epoch")
    assert [[row[name] for name in compared] for row in done] == [
        [row[name] for name in compared] for row in table(tmp_path / "whole")
    ]
    assert [row["error"] for row in table(out) if row["state"] == "failed"] == ["broken off"]
    assert (out / "best.yaml").read_bytes() == (tmp_path / "whole" / "best.yaml").read_bytes()
    assert not list(out.glob(".worker-*"))


def test_two_searches_at_once_share_the_points(events: Path, tmp_path: Path) -> None:
    first, second = (tuning(events, tmp_path / "shared", prune_after=9) for _ in range(2))
    seen: list[Point] = []

    def begin(_: int, point: Point) -> Watch:
        seen.append(point)
        if len(seen) == 1:  # the first is in the midst of a trial while the second does all the others
            second.run(begin)
        return Watch()

    first.run(begin)
    assert sorted(point["model.dropout"] for point in seen) == [0.1, 0.3, 0.5]
    alone = tuning(events, tmp_path / "alone", prune_after=9)
    alone.run()
    assert outline(first.trials()) == outline(alone.trials())


def test_a_trial_that_learns_nothing_is_pruned(events: Path, tmp_path: Path) -> None:
    space = write_space(tmp_path, learning_rate=[1e-2, 1e-9])
    words = ["tune", str(events), *QUICK, *space, "--epochs", "8", "--min-epochs", "2", "--prune-after", "1"]
    assert main([*words, "--out", str(tmp_path / "search")]) == 0
    good, bad = table(tmp_path / "search")
    assert (good["state"], bad["state"]) == ("finished", "pruned")
    assert 2 <= int(bad["epoch"]) < 8
    assert yaml.safe_load((tmp_path / "search" / "best.yaml").read_text())["learning_rate"] == 1e-2


def test_no_trial_is_tested(events: Path, tmp_path: Path) -> None:
    stages: list[str] = []

    class Stages(Watch):
        def stage(self, label: str, events: int) -> None:  # noqa: ARG002
            stages.append(label)

    tuning(events, tmp_path / "search", settings={"select_by": "historical,random"}, trials=1).run(lambda *_: Stages())
    assert stages == ["epoch 1/2", "epoch 1/2 validation", "epoch 2/2", "epoch 2/2 validation"]


def test_a_trial_that_fails_leaves_the_others_alone_and_is_tried_again(events: Path, tmp_path: Path) -> None:
    class Broken(Watch):
        def epoch(self, record: dict[str, Any]) -> None:  # noqa: ARG002
            raise MemoryError("no more")

    search = tuning(events, tmp_path / "search")
    search.run(lambda _, point: Broken() if point["model.dropout"] == 0.3 else Watch())
    failed = [trial for trial in search.trials() if trial.state == "failed"]
    assert [(trial.point, trial.error) for trial in failed] == [({"model.dropout": 0.3}, "MemoryError: no more")]
    again = tuning(events, tmp_path / "search")
    again.run()
    assert Counter(trial.state for trial in again.trials() if trial.state != "failed").total() == 3


def test_a_search_stopped_by_ctrl_c_goes_on(events: Path, tmp_path: Path) -> None:
    class Stopped(Watch):
        def epoch(self, record: dict[str, Any]) -> None:  # noqa: ARG002
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuning(events, tmp_path / "search").run(lambda number, _: Stopped() if number == 1 else Watch())
    again = tuning(events, tmp_path / "search")
    again.run()
    done = [trial.point["model.dropout"] for trial in again.trials() if trial.state in ("finished", "pruned")]
    assert sorted(done) == [0.1, 0.3, 0.5]


def test_the_paper_s_space_is_that_of_the_model_s_options() -> None:
    assert set(paper_space("tgat", "linear")) == {"model.dropout"}
    assert set(paper_space("dygdecoder", "cosine")) == {"model.dropout", "model.channel"}


def test_options_go_by_short_and_full_names_with_hyphens_or_underscores() -> None:
    given = {"dropout": [0.1], "model.heads": [1, 2], "time-encoder.width": [4], "Batch-Size": [7, 7]}
    full = {"model.dropout": [0.1], "model.heads": [1, 2], "time_encoder.width": [4], "batch_size": [7]}
    assert named_in_full(given, "tgat", "linear") == full


def test_more_points_are_the_same_points_and_more() -> None:
    space = {"a": [1, 2, 3], "b": [4, 5]}
    assert len(points(space, None, 1)) == 6
    for limit in range(1, 6):
        assert points(space, limit, 1) == points(space, limit + 1, 1)[:limit] or limit == 5
    assert points(space, 3, 1) != points(space, 3, 2)


WRONG = [
    ({"dropuot": [0.1]}, [], "no option named 'dropuot'; did you mean 'dropout'?"),
    ({"time_encoder.witdh": [4]}, [], "did you mean 'time_encoder.width'?"),
    ({"select_by": ["random"]}, [], "no option named 'select_by'"),
    ({"dropout": []}, [], "dropout has no values to try; write a list, as in dropout: [0.1, 0.3]"),
    ({"dropout": 0.1}, [], "dropout has no values to try"),
    ({"dropout": ["much"]}, [], "model.dropout"),
    ({"heads": [2, 5]}, [], "cannot be shared by 5 heads"),
    ({"epochs": [0]}, [], "epochs is 0; a trial needs 1 or more"),
    ({"dropout": [0.1]}, ["--trials", "0"], "trials is 0; it must be 1 or more"),
    ({"dropout": [0.1]}, ["--storage", "sqlite:////no/such/folder/study.db"], "the storage cannot be opened ("),
    ({"dropout": [0.1]}, ["--storage", "nonsense"], "the storage cannot be opened ("),
    ({"dropout": [0.1]}, ["--storage", "oracle://host/study"], "the storage cannot be opened ("),
    ({"dropout": [0.1]}, ["--space", "no/such.yaml"], "no/such.yaml cannot be read as YAML"),
]


@pytest.mark.parametrize(("space", "words", "sentence"), WRONG, ids=[sentence for _, _, sentence in WRONG])
def test_a_mistake_gets_one_sentence_and_exit_code_2(
    space: dict[str, Any],
    words: list[str],
    sentence: str,
    events: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["tune", str(events), *QUICK, *write_space(tmp_path, **space), "--out", str(tmp_path / "out"), *words]
    assert main(given) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out" / "trials.csv").exists()


def test_a_model_without_options_or_weights_is_not_tuned(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", str(events), "--model", "edgebank", "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert "edgebank has no option dropout or channel" in capsys.readouterr().err
    assert main([*words, *write_space(tmp_path, batch_size=[100, 200])]) == 2
    assert "edgebank learns nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "name"),
    [({"space": {"model.dropout": [0.1, 0.2]}}, "space"), ({"settings": {"epochs": 3}}, "epochs")],
)
def test_a_study_made_otherwise_is_refused_and_left_alone(
    changed: dict[str, Any], name: str, events: Path, tmp_path: Path
) -> None:
    first = tuning(events, tmp_path / "search", trials=1)
    first.run()
    with pytest.raises(ChronolinkError, match=f"the study 'search' was made with another {name}"):
        tuning(events, tmp_path / "search", **changed)
    tuning(events, tmp_path / "search", trials=1).run(lambda *_: pytest.fail("nothing is left to do"))


def test_a_storage_of_one_s_own_is_used(events: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mine.db'}"
    search = tuning(events, tmp_path / "search", storage=url, trials=1)
    search.run()
    assert len(optuna.load_study(study_name="search", storage=url).trials) == 1
    assert not (tmp_path / "search" / "study.db").exists()
