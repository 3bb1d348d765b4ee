"""Node classification: what a run learns and leaves behind"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chronolink import ChronolinkError, Report, RunFolder, Split, Training, fit
from chronolink.cli import main
from chronolink.events import EventStream, TemporalGraph
from chronolink.jobs.node_classification import NodeClassificationJob
from chronolink.jobs.training import TrainingJob
from chronolink.model import PairModel
from chronolink.tasks.node_classification import NodeClassification
from chronolink.training.head import HeadTraining, answers, load_head
from chronolink.training.node_classification import classify_nodes, embed_sources
from chronolink.training.processes import accelerator_for
from tests.test_node_classification import quick

NODES = "node-classification"
FAST = HeadTraining(epochs=25, learning_rate=1e-2)


def planted(events: int = 1500, shuffled: bool = False) -> TemporalGraph:
    """Half of the sources are in state 1, and the feature of their events tells: what went before gives it away."""
    generator = torch.Generator().manual_seed(7)
    source = torch.randint(20, (events,), generator=generator)
    destination = 20 + torch.randint(10, (events,), generator=generator)
    state = source % 2
    feature = (2.0 * state - 1 + 0.5 * torch.randn(events, generator=generator)).unsqueeze(1)
    label = state[torch.randperm(events, generator=generator)] if shuffled else state
    graph = TemporalGraph.of(EventStream.sorted(source, destination, torch.arange(events) * 60.0), name="planted")
    return replace(graph, edge_features=feature, labels=label)


def found(report: Report) -> dict[str, float]:
    return report.test[NODES]  # type: ignore[no-any-return]


def kept(report: Report) -> dict[str, Any]:
    return json.loads(json.dumps({**asdict(report), "cost": None}))  # type: ignore[no-any-return]


def test_states_that_can_be_learnt_are_and_shuffled_ones_are_not() -> None:
    reports = []
    for shuffled in (False, True):
        graph = planted(shuffled=shuffled)
        reports.append(classify_nodes(quick(graph), graph, Training(epochs=1), FAST))
    assert found(reports[0])["auc"] > 0.97
    assert abs(found(reports[1])["auc"] - 0.5) < 0.1


def test_the_links_are_trained_and_tested_as_ever_and_the_model_stays_frozen(tmp_path: Path) -> None:
    graph = planted()
    plain = fit(quick(graph), graph, Training(epochs=2), out=tmp_path / "links")
    report = classify_nodes(quick(graph), graph, Training(epochs=2), FAST, out=tmp_path / "nodes")
    assert {name: value for name, value in report.test.items() if name != NODES} == plain.test
    assert report.epochs == plain.epochs
    assert report.settings == {**plain.settings, "task": NODES, "head": asdict(FAST)}
    weights = [RunFolder(tmp_path / name).weights().read_bytes() for name in ("links", "nodes")]
    assert weights[0] == weights[1]


def test_a_run_keeps_its_head_and_the_head_gives_the_reports_number(tmp_path: Path) -> None:
    graph = planted()
    report = classify_nodes(quick(graph), graph, Training(epochs=1), FAST, out=tmp_path)
    assert kept(Report.read(tmp_path / "report.json")) == kept(report)
    chosen = report.selected[NODES]
    assert chosen["validation_auc"] == max(record["validation_auc"] for record in chosen["epochs"])
    assert chosen["test"][NODES] == found(report)
    assert {"auc", "ap", "events", "positives"} == set(found(report))
    assert {"embedding_seconds", "head_seconds", "seconds_an_epoch"} <= set(report.cost)
    model, task = quick(graph), NodeClassification(graph, Split.of(graph))
    RunFolder(tmp_path).load_weights(model)
    assert isinstance(model, PairModel)
    rows = embed_sources(model, task, accelerator_for("cpu"))
    assert task.judge("test", answers(load_head(tmp_path), rows, task.part("test"))) == found(report)


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    graph = planted(600)
    reports = [classify_nodes(quick(graph, s), graph, Training(seed=s, epochs=1), FAST) for s in (1, 1, 2)]
    assert kept(reports[0]) == kept(reports[1])
    assert reports[0].selected[NODES]["epochs"] != reports[2].selected[NODES]["epochs"]


def test_several_criteria_are_refused() -> None:
    graph = planted(200)
    with pytest.raises(ChronolinkError, match="select_by is random,historical; nodes are classified with one model"):
        classify_nodes(quick(graph), graph, Training(select_by="random,historical"))


class Killed(BaseException):
    pass


def die(*_arguments: object, **_options: object) -> None:
    raise Killed


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted stream in the benchmark's format, which has labels."""
    graph, folder = planted(500), tmp_path_factory.mktemp("planted")
    stream, labels = graph.events, graph.labels
    assert labels is not None
    columns = (stream.source + 1, stream.destination + 1, stream.time, labels, stream.id + 1)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [f"{n},{','.join(map(str, row))}" for n, row in enumerate(rows)]
    (folder / "ml_planted.csv").write_text("\n".join([",u,i,ts,label,idx", *lines]) + "\n")
    np.save(folder / "ml_planted.npy", np.vstack([np.zeros((1, 1)), graph.edge_features.numpy()]))
    np.save(folder / "ml_planted_node.npy", np.zeros((31, 1)))
    return folder


def words(data: Path, out: Path, *others: str) -> list[str]:
    small = ["--model.width", "16", "--model.neighbours", "5", "--time-encoder.width", "8", "--epochs", "2"]
    head = ["--head.epochs", "6", "--head.learning-rate", "0.01"]
    return ["train", str(data), "--task", NODES, *small, *head, "--out", str(out), *others]


@pytest.fixture(scope="module")
def run(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    assert main(words(benchmark, out)) == 0
    return out


STRIKES = ["fit.run_epoch", "fit._Run.report", "node_classification.train_head", "node_classification.keep_head"]


@pytest.mark.parametrize("moment", STRIKES)
def test_a_killed_run_goes_on_and_ends_with_the_same_report(
    moment: str,
    benchmark: Path,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "killed"
    with monkeypatch.context() as patch:
        patch.setattr(f"chronolink.training.{moment}", die)
        with pytest.raises(Killed):
            main(words(benchmark, out))
    capsys.readouterr()
    assert main(["train", "--resume", str(out)]) == 0
    assert "finished already" not in capsys.readouterr().out
    assert kept(Report.read(out / "report.json")) == kept(Report.read(run / "report.json"))
    for file in ("model.safetensors", "head.safetensors", "config.yaml"):
        assert (out / file).read_bytes() == (run / file).read_bytes()


def test_a_finished_run_is_shown_and_not_run_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / "report.json").stat().st_mtime_ns
    assert main(["train", "--resume", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "finished already" in shown
    assert f"nodes' states: test AUC {found(Report.read(run / 'report.json'))['auc']:.4f}" in shown
    assert "historical" in shown
    assert (run / "report.json").stat().st_mtime_ns == before


def test_the_configuration_of_a_run_gives_the_same_run(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    assert main(["train", "--config", str(run / "config.yaml"), "--out", str(out)]) == 0
    assert kept(Report.read(out / "report.json")) == kept(Report.read(run / "report.json"))


def test_hyphens_and_underscores_in_the_task_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "uci", "--task", "Node_Classification", "--head.patience", "7", "--print-config"])
    assert "patience: 7" in capsys.readouterr().out


def test_a_configuration_without_its_head_is_said_to_be(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text((run / "config.yaml").read_text().partition("head:")[0])
    (tmp_path / "split.json").write_bytes((run / "split.json").read_bytes())
    assert main(["train", "--resume", str(tmp_path)]) == 2
    assert "the settings say nothing of 'head'" in capsys.readouterr().err


def test_the_links_of_a_run_are_evaluated_as_those_of_any_other(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--negatives", "random", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["random"] == Report.read(run / "report.json").test["random"]


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        (["uci", "--task", NODES], "uci has no labels, so no node can be classified"),
        (["wikipedia-edges", "--task", NODES, "--model", "edgebank"], "Edgebank embeds no nodes"),
        (["uci", "--task", "node-clasification"], "no task named 'node-clasification'; did you mean"),
        (["wikipedia-edges", "--task", NODES, "--head.epochs", "0"], "head.epochs is 0; it must be 1 or more"),
        (["wikipedia-edges", "--task", NODES, "--select-by", "random,inductive"], "give one kind of negatives"),
        (["uci", "--head.epochs", "3"], "no option named '--head.epochs'"),
    ],
)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(
    others: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *others]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert shown.count("\n") == 1
    assert not list(tmp_path.iterdir())


# Studies


def job(data: Path) -> NodeClassificationJob:
    training = Training(epochs=1)
    options = {"width": 8, "neighbours": 4}
    links = TrainingJob.of(str(data), "tgat", {"name": "linear", "width": 4}, options, training)
    return NodeClassificationJob.after(links, HeadTraining(epochs=3))


def test_links_and_nodes_never_mix(benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = job(benchmark)
    links = TrainingJob({key: value for key, value in nodes.settings.items() if key not in ("task", "head")})
    assert nodes.name != links.name
    with monkeypatch.context() as patch:
        patch.setattr("chronolink.training.node_classification.train_head", die)
        with pytest.raises(Killed):
            nodes.perform(tmp_path)
    assert (nodes.folder(tmp_path) / "report.json").exists()  # that of the links
    assert nodes.report(tmp_path) is None
    report = nodes.perform(tmp_path)
    assert nodes.report(tmp_path) == report
    assert links.report(tmp_path) is None
    assert NODES not in links.perform(tmp_path)["test"]


def test_the_study_fills_its_table(benchmark: Path, tmp_path: Path) -> None:
    asked = ["--data", str(benchmark), "--models", "tgat", "--time-encoders", "linear", "--seeds", "1", "2"]
    assert main(["study", NODES, *asked, "--epochs", "1", "--out", str(tmp_path / "out")]) == 0
    records = json.loads((tmp_path / "out" / NODES / "results.json").read_text())
    assert [record["runs"] for record in records] == [2]
    assert all(0 < record["mean"] <= 100 for record in records)
