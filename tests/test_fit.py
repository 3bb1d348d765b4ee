"""Training, selection, evaluation and what a run leaves behind"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from accelerate import Accelerator
from safetensors.torch import load_file

import chronolink
from chronolink import ChronolinkError, Report, RunFolder, Split, Training, build, fit
from chronolink.events import EventStream, TemporalGraph
from chronolink.tasks.link_prediction import LinkPrediction
from chronolink.training.evaluate import verdicts
from chronolink.training.selection import Selection
from chronolink.training.watch import Watch
from tests.streams import random_graph

QUICK = {"model": "tgat", "neighbours": 5, "width": 16}


def learnable(events: int = 1200) -> TemporalGraph:
    """At any time all turn to three destinations, and a while later to others: who was met lately is met again."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(20, (events,), generator=generator)
    destination = 20 + (torch.arange(events) // 60 + torch.randint(3, (events,), generator=generator)) % 20
    return TemporalGraph.of(EventStream.sorted(source, destination, torch.arange(events) * 60.0), name="learnable")


def quick(graph: TemporalGraph, seed: int = 1, **options: Any) -> Any:
    return build(**{**QUICK, **options}, graph=graph, time_encoder={"name": "linear", "width": 8}, seed=seed)


def same(first: Report, second: Report) -> bool:
    def kept(report: Report) -> str:
        return json.dumps({key: value for key, value in asdict(report).items() if key != "cost"}, sort_keys=True)

    return kept(first) == kept(second)


def test_it_learns_what_can_be_learnt() -> None:
    graph = learnable()
    report = fit(quick(graph), graph, Training(epochs=12, learning_rate=3e-3))
    first, last = report.epochs[0], report.epochs[-1]
    assert last["loss"] < first["loss"]
    assert report.test["random"]["ap"] > 0.8


def test_a_run_is_a_folder_that_holds_all_of_it(tmp_path: Path) -> None:
    graph = learnable()
    training = Training(epochs=2, select_by="historical,random", candidates=20)
    report = fit(quick(graph), graph, training, out=tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert same(Report.read(folder.report), report)
    kept = json.loads(folder.report.read_text())
    for place in (kept["test"], kept["test"]["unseen"]):
        for negatives in ("random", "historical", "inductive"):
            assert {"ap", "auc", "ap_batch", "events", "brier", "ece"} <= set(place[negatives])
        assert {"mrr", "hits@10"} <= set(place["random"])
    assert kept["test"] == kept["selected"]["historical"]["test"]
    assert kept["data"]["digest"] == graph.digest()
    assert kept["split"]["digest"] == Split.of(graph).digest()
    assert kept["parameters"] == sum(parameter.numel() for parameter in quick(graph).parameters())
    assert {"seconds_an_epoch", "peak_memory"} <= set(kept["cost"])
    assert {"chronolink", "torch", "python", "numpy"} <= set(kept["versions"])
    assert [json.loads(line)["epoch"] for line in folder.metrics.read_text().splitlines()] == [1, 2]
    assert yaml.safe_load(folder.config.read_text())["model"]["width"] == 16
    assert list(folder.path.glob("events.out.tfevents*"))
    assert not folder.checkpoint.exists()
    assert "scale.mean" in " ".join(load_file(folder.weights()))


def test_a_second_run_in_the_same_folder_is_refused_and_nothing_lost(tmp_path: Path) -> None:
    graph = learnable()
    fit(quick(graph), graph, Training(epochs=1), out=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ChronolinkError, match="holds a run already; go on with it by"):
        fit(quick(graph), graph, Training(epochs=1), out=tmp_path)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_the_best_epoch_is_kept_and_patience_ends_the_search() -> None:
    model = build("tgat", random_graph(), width=4, heads=1)
    selection = Selection("random")
    for epoch, ap in enumerate([0.5, 0.7, 0.6, 0.7, 0.65, 0.9], start=1):
        with torch.no_grad():
            model.head.out.bias.fill_(epoch)
        selection.consider(model, epoch, ap, patience=3, min_epochs=0)
    assert (selection.epoch, selection.ap, selection.over) == (2, 0.7, True)
    assert selection.weights["head.out.bias"].item() == 2.0


def test_no_search_ends_before_the_least_number_of_epochs() -> None:
    model, selection = build("edgebank", random_graph()), Selection("random")
    for epoch, ap in enumerate([0.9, 0.1, 0.1, 0.1], start=1):
        selection.consider(model, epoch, ap, patience=1, min_epochs=4)
        assert selection.over == (epoch == 4)


def test_several_criteria_select_as_each_alone_would() -> None:
    graph = learnable()
    options = {"epochs": 6, "patience": 1, "min_epochs": 1, "learning_rate": 3e-3}
    both = fit(quick(graph), graph, Training(select_by="random,historical", **options))
    for criterion in ("random", "historical"):
        alone = fit(quick(graph), graph, Training(select_by=criterion, **options))
        assert alone.selected[criterion] == both.selected[criterion]


def test_scores_do_not_depend_on_the_batch_size_of_evaluation() -> None:
    graph = learnable()
    model, task = quick(graph), LinkPrediction(graph, Split.of(graph))
    model.prepare(task.train, task.train_history)
    found = [verdicts(model, task, Accelerator(cpu=True), batch_size=size) for size in (7, 200, 1000)]
    for other in found[1:]:
        for negatives in ("random", "historical", "inductive"):
            assert other[negatives].all == pytest.approx(found[0][negatives].all, abs=1e-6)


@pytest.mark.parametrize("model", ["tgat", "tgn"])
def test_kinds_of_negatives_asked_together_are_judged_as_each_alone_and_the_events_are_asked_once(model: str) -> None:
    graph = learnable()
    built, task, alone = quick(graph, model=model), LinkPrediction(graph, Split.of(graph)), Accelerator(cpu=True)
    built.prepare(task.train, task.train_history)
    asked: list[int] = []
    built.register_forward_pre_hook(lambda _, given: asked.append(len(given[0])))
    together = verdicts(built, task, alone)
    assert sum(asked) == 4 * len(task.part("test"))
    for kind, found in together.items():
        own = verdicts(built, task, alone, negatives=[kind])[kind]  # type: ignore[list-item]
        assert found.all == pytest.approx(own.all, abs=1e-6)
        assert (found.unseen or {}) == pytest.approx(own.unseen or {}, abs=1e-6)


def test_training_negatives_do_not_depend_on_the_batch_size_and_change_with_the_epoch() -> None:
    graph = learnable()
    task = LinkPrediction(graph, Split.of(graph))
    first, again, later = (task.training_questions(1, epoch).negatives.destination for epoch in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)


def test_training_never_looks_up_validation_or_held_out_events() -> None:
    graph = learnable()
    split = Split.of(graph)
    task = LinkPrediction(graph, split)
    assert float(task.train_history.time.max()) <= split.last_train
    assert len(task.train_history.time) == len(split.train(graph.events))


def test_negative_times_are_times_like_any_other() -> None:
    graph = learnable()
    stream = graph.events
    early = graph.cut(EventStream(stream.source, stream.destination, stream.time - 3e9, stream.id))
    reports = [fit(quick(g), g, Training(epochs=1)) for g in (graph, early)]
    assert reports[0].test["random"]["ap"] == pytest.approx(reports[1].test["random"]["ap"], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epochs": -1}, "epochs is -1; it must be 0 or more"),
        ({"batch_size": 0}, "batch_size is 0; it must be 1 or more"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"select_by": "rnadom"}, "no kind of negatives named 'rnadom'; did you mean 'random'?"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ChronolinkError, match=words.replace("?", r"\?")):
        Training(**options)


SCRIPT = """
import sys
from tests.test_fit import learnable, quick, Dawdle
from chronolink import Training, fit
graph = learnable()
training = Training(epochs=4, batch_size=50)
fit(quick(graph), graph, training, out=sys.argv[1], resume=sys.argv[2] == "resume", watch=Dawdle())
"""


class Dawdle(Watch):
    """Gives a killer time to strike within a step, a validation, a checkpoint."""

    def advance(self, events: int, loss: float) -> None:  # noqa: ARG002
        time.sleep(0.01)


def start(out: Path, how: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(out), how], env=environment)


def test_a_run_killed_at_several_moments_ends_with_the_same_report(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole, "start").wait() == 0
    process = start(killed, "start")
    wanted = [("config.yaml", 0.0), ("checkpoint.safetensors", 0.05), ("checkpoint.safetensors", 0.25), ("", 0.4)]
    for file, pause in wanted:
        begun = (killed / file).stat().st_mtime_ns if file and (killed / file).exists() else None
        while process.poll() is None and file and _unchanged(killed / file, begun):
            time.sleep(0.002)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (killed / "report.json").exists():
            process = start(killed, "resume" if (killed / "config.yaml").exists() else "start")
    assert process.wait() in (0, -signal.SIGKILL)
    if not (killed / "report.json").exists():
        assert start(killed, "resume").wait() == 0
    assert same(Report.read(whole / "report.json"), Report.read(killed / "report.json"))
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()


def _unchanged(path: Path, since: int | None) -> bool:
    return not path.exists() or path.stat().st_mtime_ns == since


def test_scores_that_are_no_numbers_end_a_training_in_one_sentence() -> None:
    graph = learnable()
    with pytest.raises(ChronolinkError, match="scores are infinite or not numbers; lower the learning rate"):
        fit(quick(graph), graph, Training(epochs=2, learning_rate=1e30))


def test_a_run_on_events_in_memory_says_that_it_keeps_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = learnable()
    fit(quick(graph), graph, Training(epochs=1), out=tmp_path / "run")
    assert "will keep no events" in caplog.text
    with pytest.raises(ChronolinkError, match="was trained on events in memory, which it does not keep"):
        chronolink.open(tmp_path / "run")


@pytest.mark.parametrize("kind", [str, Path])
def test_a_run_with_features_of_nodes_is_opened_from_any_folder(
    kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{n % 5},{n % 7},{n},0.5\n" for n in range(60))
    Path("log.csv").write_text(f"source,destination,time,weight\n{rows}")
    Path("people.csv").write_text("node,age\n" + "".join(f"{n},{n + 20}\n" for n in range(7)))
    graph = chronolink.load("log.csv", node_features=kind("people.csv"), edge_features=("weight",))
    fit(build("recency", graph), graph, Training(epochs=1), out="run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert chronolink.open("../run").history.node_features.shape == (7, 1)
