"""Every run leaves its calibration, and every later command goes by it"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chronolink import ChronolinkError, Report, Training, build, fit
from chronolink.calibration import Calibration
from chronolink.cli import main
from tests.test_fit import learnable

BEFORE = ("brier_before", "ece_before")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    """Two criteria, trained from a file, so that it can be evaluated again."""
    folder = tmp_path_factory.mktemp("calibrated")
    stream = learnable().events
    rows = zip(stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True)
    text = "".join(f"{source},{destination},{time}\n" for source, destination, time in rows)
    (folder / "log.csv").write_text(f"source,destination,time\n{text}")
    options = ["--model.width", "16", "--model.neighbours", "5", "--time-encoder.width", "8", "--learning-rate", "3e-3"]
    chosen = ["--select-by", "random,historical", "--epochs", "3", "--out", str(folder / "run")]
    assert main(["train", str(folder / "log.csv"), *options, *chosen]) == 0
    return Report.read(folder / "run" / "report.json"), folder / "run"


def test_every_criterion_has_a_calibration_and_reliability_in_the_report(trained: tuple[Report, Path]) -> None:
    report, _ = trained
    assert report.calibration == report.selected["random"]["calibration"]
    assert report.calibration["temperature"] != report.selected["historical"]["calibration"]["temperature"]
    for chosen in report.selected.values():
        found = chosen["calibration"]
        assert found["temperature"] > 0
        for kind in ("random", "historical", "inductive"):
            assert sum(found["reliability"][kind]["after"]["count"]) == 2 * chosen["test"][kind]["events"]
            assert BEFORE[0] in chosen["test"]["unseen"][kind]


def test_evaluate_prints_what_the_report_holds(
    trained: tuple[Report, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    report, run = trained
    assert main(["evaluate", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = {name: report.calibration[name] for name in ("temperature", "offset", "note")}
    assert found.pop("calibration") == kept
    assert found == report.test
    assert found["random"]["ece"] < found["random"]["ece_before"] / 2
    assert main(["evaluate", str(run), "--candidates", "9"]) == 0
    shown = capsys.readouterr().out
    wanted = [report.test["random"][metric] for metric in ("ap", "brier", "ece", *BEFORE)]
    assert all(f"{value:.4f}" in shown for value in wanted)
    assert f"{abs(report.calibration['offset']):.6g}) / {report.calibration['temperature']:.6g})" in shown
    assert max(map(len, shown.splitlines())) <= 110
    header = [cell.strip() for cell in shown.splitlines()[2].split("┃")[1:-1]]
    assert header[3:] == ["ap", "auc", "ap_batch", "brier", "ece", "mrr", "hits@10"]


def test_training_leaves_the_diagram_in_the_folder_and_a_lost_one_is_drawn_again(trained: tuple[Report, Path]) -> None:
    _, run = trained
    (run / "reliability.png").unlink()
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "reliability.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "reliability.pdf").read_bytes().startswith(b"%PDF")


def test_a_run_older_than_calibration_is_read_shown_and_evaluated_at_1(
    trained: tuple[Report, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, run = trained
    _copy(run, tmp_path, {key: value for key, value in _json(run).items() if key != "calibration"})
    assert Report.read(tmp_path / "report.json").calibration == {}
    assert main(["evaluate", str(tmp_path), "--negatives", "random"]) == 0
    shown = capsys.readouterr().out
    assert "the run has no calibration" in shown
    assert f"{report.test['random']['ece_before']:.4f}" in shown
    assert main(["train", "--resume", str(tmp_path)]) == 0
    assert not (tmp_path / "reliability.png").exists()


@pytest.mark.parametrize("temperature", [0, -1.5, "warm", None])
def test_a_report_with_a_spoilt_temperature_is_refused(
    temperature: Any, trained: tuple[Report, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = trained
    _copy(run, tmp_path, _json(run) | {"calibration": {"temperature": temperature}})
    assert main(["evaluate", str(tmp_path)]) == 2
    assert f"temperature is {temperature!r}, not a number above 0; bring back" in capsys.readouterr().err
    with pytest.raises(ChronolinkError):
        Calibration.of({"temperature": temperature})


@pytest.mark.parametrize("offset", ["aside", None, float("nan")])
def test_a_spoilt_offset_is_refused(offset: Any) -> None:
    with pytest.raises(ChronolinkError, match="offset is"):
        Calibration.of({"temperature": 1.0, "offset": offset})


def _json(run: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((run / "report.json").read_text())
    return kept


def _copy(run: Path, to: Path, report: dict[str, Any]) -> None:
    for name in ("config.yaml", "split.json", "model.safetensors"):
        (to / name).write_bytes((run / name).read_bytes())
    (to / "report.json").write_text(json.dumps(report))


@pytest.mark.parametrize("name", ["edgebank", "edgebank_window", "recency", "popularity", "popularity_recency"])
def test_heuristics_are_trained_without_harm(name: str) -> None:
    graph = learnable()
    report = fit(build(name, graph), graph, Training())
    assert 0 <= report.test["random"]["ece"] <= 1
    assert report.calibration["temperature"] > 0
