"""The command line as people type it"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from chronolink.cli import main

QUICK = ["--model.width", "16", "--model.neighbours", "5", "--time-encoder.width", "8", "--batch-size", "100"]
COLUMNS = ["--source", "who", "--destination", "whom", "--time", "when"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names, ISO dates and one feature, as an engineer's event log has them."""
    path = tmp_path_factory.mktemp("log") / "log.csv"
    begun = datetime(2024, 1, 1)
    rows = [
        f"person {i * 7 % 20},shop {(i * 7 + i % 3) % 20},{(begun + timedelta(minutes=i)).isoformat()},{i % 5}"
        for i in range(800)
    ]
    path.write_text("\n".join(["who,whom,when,amount", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def run(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "first"
    features = ["--edge-features", "amount"]
    assert main(["train", str(log), *COLUMNS, *features, *QUICK, "--epochs", "2", "--out", str(out)]) == 0
    return out


def report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


def same(first: Path, second: Path) -> bool:
    return {**report(first), "cost": 0} == {**report(second), "cost": 0}


def test_a_file_is_trained_on_with_its_own_column_names(run: Path) -> None:
    found = report(run)
    assert found["data"]["events"] == 800
    assert found["settings"]["source"] == "who"
    assert 0 < found["test"]["unseen"]["random"]["ap"] <= 1


def test_hyphens_and_underscores_in_flags_and_names_are_the_same(log: Path, run: Path, tmp_path: Path) -> None:
    words = ["train", *COLUMNS, "--edge_features=amount", *QUICK, "--epochs=2", "--out", str(tmp_path / "again")]
    assert main([word.replace("-size", "_size").replace("-encoder", "_encoder") for word in words] + [str(log)]) == 0
    assert same(run, tmp_path / "again")


def test_the_printed_configuration_gives_the_same_run(
    log: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["train", str(log), *COLUMNS, "--edge-features", "amount", *QUICK, "--epochs", "2", "--print-config"])
    assert stopped.value.code == 0
    (tmp_path / "config.yaml").write_text(capsys.readouterr().out)
    out = str(tmp_path / "again")
    assert main(["train", "--config", str(tmp_path / "config.yaml"), "--out", out]) == 0
    assert same(run, Path(out))


def test_the_configuration_of_a_run_gives_the_same_run_and_flags_go_before_it(run: Path, tmp_path: Path) -> None:
    config = ["train", "--config", str(run / "config.yaml")]
    assert main([*config, "--out", str(tmp_path / "again")]) == 0
    assert same(run, tmp_path / "again")
    assert main([*config, "--model.dropout", "0.4", "--epochs", "1", "--out", str(tmp_path / "other")]) == 0
    settings = yaml.safe_load((tmp_path / "other" / "config.yaml").read_text())
    assert (settings["model"]["dropout"], settings["epochs"]) == (0.4, 1)


def test_evaluating_again_gives_the_report_s_numbers_whatever_the_batch_size(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for size in ("7", "200"):
        assert main(["evaluate", str(run), "--negatives", "historical", "--batch-size", size, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["historical"] == pytest.approx(report(run)["test"]["historical"], rel=1e-6)


def test_evaluate_ranks_among_candidates(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--candidates", "12", "--part", "validation", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 1 / 13 <= found["random"]["mrr"] <= 1
    assert found["random"]["hits@10"] >= found["random"]["mrr"] / 2


def test_a_finished_run_is_shown_and_not_run_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / "report.json").stat().st_mtime_ns
    assert main(["train", "--resume", str(run)]) == 0
    assert "finished already" in capsys.readouterr().out
    assert (run / "report.json").stat().st_mtime_ns == before


def test_an_unfinished_run_goes_on(run: Path, tmp_path: Path) -> None:
    for name in ("config.yaml", "split.json"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    assert main(["train", "--resume", str(tmp_path)]) == 0
    assert same(run, tmp_path)


def test_a_printed_configuration_names_the_model_and_the_encoder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(
            [
                "train",
                "uci",
                "--model",
                "dygformer",
                "--time-encoder",
                "cosine",
                "--model.length",
                "9",
                "--print-config",
            ]
        )
    settings = yaml.safe_load(capsys.readouterr().out)
    assert (settings["model"]["name"], settings["model"]["length"]) == ("dygformer", 9)
    assert settings["time_encoder"]["name"] == "cosine"


def test_a_folder_with_other_files_is_left_alone(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.safetensors").write_text("mine")
    assert main(["train", str(log), *COLUMNS, *QUICK, "--epochs", "1", "--out", str(tmp_path)]) == 2
    assert "holds other files (model.safetensors)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_candidates_go_with_any_negatives(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--candidates", "5", "--negatives", "historical"]) == 0
    assert "mrr" in capsys.readouterr().out
    assert main(["evaluate", str(run), "--candidates", "-1"]) == 2


def test_data_sets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("uci", "59,835", "bundled", "reddit", "672,447"))


def test_a_data_set_is_described_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "UCI", "--figure", str(tmp_path / "new" / "uci.png")]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("1,899", "59,835", "20,296", "58,911", "8,975", "16,179.64"))
    assert (tmp_path / "new" / "uci.png").read_bytes().startswith(b"\x89PNG")


def test_a_memory_only_model_needs_no_training(tmp_path: Path) -> None:
    assert main(["train", "uslegis", "--model", "edgebank", "--out", str(tmp_path / "bank")]) == 0
    assert report(tmp_path / "bank")["parameters"] == 0
    assert report(tmp_path / "bank")["epochs"] == []
    assert main(["evaluate", str(tmp_path / "bank")]) == 0


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("train", "evaluate", "datasets", "describe", "demo"))
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip()
    for command in ("train", "evaluate", "describe", "demo", "datasets"):
        with pytest.raises(SystemExit) as stopped:
            main([command, "--help"])
        assert stopped.value.code == 0


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("train", "chronolink: stopped; `chronolink train --resume RUN` goes on with the run"),
        ("study", "chronolink: stopped; the same command goes on with the study"),
        ("tune", "chronolink: stopped; the same command goes on with the search"),
        ("describe", "chronolink: stopped"),
    ],
)
def test_a_command_that_is_stopped_says_how_to_go_on(
    command: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"chronolink.commands.{command}.main", stop)
    assert main([command]) == 130
    assert capsys.readouterr().err.strip() == sentence


WRONG = [
    (["trian", "uci"], "no command named 'trian'; did you mean 'train'?"),
    (["train"], "no data given; name a data set"),
    (["train", "ucy"], "no data set named 'ucy'; did you mean 'uci'?"),
    (["train", "uci", "--model", "tgta"], "no model named 'tgta'; did you mean 'tgat'?"),
    (["train", "uci", "--time-encoder", "linaer"], "no time encoder named 'linaer'; did you mean 'linear'?"),
    (["train", "uci", "--model.dropuot", "0.3"], "no option named '--model.dropuot'; did you mean '--model.dropout'?"),
    (["train", "uci", "--epochs", "many"], "epochs"),
    (["train", "uci", "--epochs"], "epochs"),
    (["train", "uci", "--batch-size", "0"], "batch_size is 0; it must be 1 or more"),
    (["train", "uci", "--model.heads", "3"], "cannot be shared by 3 heads"),
    (["train", "uci", "--time-encoder", "sine-cosine", "--time-encoder.width", "3"], "takes an even width, not 3"),
    (["train", "uci", "--source", "who"], "uci has columns of its own"),
    (["train", "no/such/file.csv"], "no/such/file.csv"),
    (["train", "uci", "--config", "no/such.yaml"], "no/such.yaml cannot be read as YAML"),
    (["train", "--resume", "no/such/run"], "no/such/run holds no run"),
    (["evaluate", "no/such/run"], "no/such/run holds no run"),
    (["evaluate"], "no run given"),
    (["describe", "ucy"], "did you mean 'uci'?"),
    (["describe", "uci", "enron"], "'enron' is one word too many; give one data"),
    (["train", "uci", "--model.heads", "0"], "heads is 0; it must be 1 or more"),
    (["train", "uci", "--model.neighbours", "-2"], "neighbours is -2; it must be 1 or more"),
    (["train", "uci", "--seed", "99999999999999999999"], "it must be below 2**63"),
    (["train", "uci", "--device", "cuda"], "torch finds no GPU here"),
    (["train", "--resume", "runs/a", "--epochs", "3"], "leave the other options out"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_a_mistake_gets_one_sentence_and_exit_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
    assert not list(tmp_path.iterdir())


def test_changed_data_are_noticed(log: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = tmp_path / "run"
    copied.mkdir()
    for path in run.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    shorter = tmp_path / "log.csv"
    shorter.write_text("\n".join(log.read_text().splitlines()[:-1]))
    settings = yaml.safe_load((copied / "config.yaml").read_text())
    (copied / "config.yaml").write_text(yaml.safe_dump({**settings, "data": str(shorter)}))
    assert main(["evaluate", str(copied)]) == 2
    assert "has changed since" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "command", "words"),
    [
        ("report.json", ["train", "--resume"], "report.json cannot be read as JSON"),
        ("split.json", ["evaluate"], "split.json cannot be read as JSON"),
        ("model.safetensors", ["evaluate"], "model.safetensors is damaged"),
        ("config.yaml", ["evaluate"], "config.yaml says nothing of"),
    ],
)
def test_a_file_cut_in_half_is_said_to_be(
    file: str, command: list[str], words: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in run.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(content[: len(content) // 3])
    assert main([*command, str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert shown.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["train", "uslegis", "--model", "edgebank", "--out", str(tmp_path / "file" / "run")]) == 2
    assert "file/run" in capsys.readouterr().err


def test_too_few_events_for_a_split_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "few.csv").write_text("source,destination,time\na,b,1\nb,c,1\n")
    assert main(["train", str(tmp_path / "few.csv"), "--out", str(tmp_path / "run")]) == 2
    assert "split has no events" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_it_is_a_module_too() -> None:
    done = subprocess.run([sys.executable, "-m", "chronolink", "train", "ucy"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "chronolink: no data set named 'ucy'; did you mean 'uci'?\n"
