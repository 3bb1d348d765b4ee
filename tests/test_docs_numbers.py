"""Figures in the docs are those of the experiments and the paper"""

from __future__ import annotations

import csv
import json
import re
from typing import Any

import pytest

from chronolink.paper import published
from tests.pages import ROOT

README = (ROOT / "README.md").read_text()
CHOOSING = (ROOT / "docs" / "choosing.md").read_text()
PICTURE = (ROOT / "docs" / "pictures" / "uci-measured.svg").read_text()
DATA = ("uci", "wikipedia", "enron", "reddit", "lastfm", "uslegis")
KINDS = ("random", "historical")


def rows(page: str, first: str) -> list[list[str]]:
    """The rows of tables that begin with this cell, without emphasis."""
    lines = [line for line in page.splitlines() if line.startswith(f"| {first} |")]
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]


def report(encoder: str) -> Any:
    return json.loads((ROOT / "experiments" / "uci-tgat" / f"{encoder}-1.json").read_text())


@pytest.mark.parametrize("encoder", ["linear", "cosine", "cosine-scaled"])
def test_uci_s_figures_are_the_experiments_and_the_paper_s(encoder: str) -> None:
    found = next(cells for cells in rows(CHOOSING, "TGAT") if cells[1] == encoder)
    for kind, ours, theirs in zip(KINDS, found[2::2], found[3::2], strict=True):
        paper = published(f"test_ap_{kind}_ns", "tgat", encoder, "uci")
        assert paper is not None
        assert (ours, theirs) == (measured(f"{kind}-negatives", encoder), f"{paper[0]:.2f} ± {paper[1]:.2f}")
        assert encoder == "cosine-scaled" or f">{ours.partition(' ')[0]}<" in PICTURE
        assert encoder == "cosine-scaled" or f">paper {paper[0]:.2f}<" in PICTURE


@pytest.mark.parametrize("model", ["TGAT", "DyGFormer", "DyGFormer-separate", "DyGDecoder"])
def test_the_paper_s_linear_figures_are_the_package_s(model: str) -> None:
    found = [cells[1:] for cells in rows(CHOOSING, model) if len(cells) == 1 + len(DATA)]
    for kind, shown in zip(KINDS, found, strict=True):
        cells = [published(f"test_ap_{kind}_ns", model, "linear", data) for data in DATA]
        assert shown == [f"{cell[0]:.2f}" for cell in cells if cell is not None]


@pytest.mark.parametrize("rule", ["popularity-recency", "recency", "popularity", "edgebank"])
def test_what_learns_nothing_has_the_figures_of_the_experiments(rule: str) -> None:
    for kind, shown in zip(KINDS, rows(CHOOSING, rule)[0][2::2], strict=True):
        assert shown == measured(f"{kind}-negatives", rule)
        assert rule == "popularity" or f">{shown}<" in PICTURE


@pytest.mark.parametrize("model", ["DyGFormer", "DyGDecoder"])
def test_what_was_computed_in_half_precision_has_the_figures_of_its_experiments(model: str) -> None:
    found = [cells for cells in rows(CHOOSING, model) if len(cells) == 6]
    assert found
    for _, encoder, *figures in found:
        for kind, ours, theirs in zip(KINDS, figures[::2], figures[1::2], strict=True):
            paper = published(f"test_ap_{kind}_ns", model, encoder, "uci")
            assert paper is not None
            known = (measured(f"{kind}-negatives", encoder, model, "bf16"), f"{paper[0]:.2f} ± {paper[1]:.2f}")
            assert (ours, theirs) == (known if known[0] else ("", ""))


def test_half_precision_is_as_near_as_the_docs_say() -> None:
    found = [
        json.loads(next((ROOT / "experiments").glob(place)).read_text())["epochs"]
        for place in ("uci-dygdecoder/linear-1.json", "bf16/runs/uci-dygdecoder-linear-1-5a0ebf60/report.json")
    ]
    pairs = zip(*([epoch["validation"]["random"]["ap"] for epoch in epochs] for epochs in found), strict=False)
    apart = [100 * abs(single - half) for single, half in pairs]
    page = " ".join((ROOT / "docs" / "scaling.md").read_text().split())
    assert f"each of the {len(apart)} epochs" in page
    assert f"within {max(apart):.2f} points of float32's, and {sum(apart) / len(apart):.2f} away on average" in page


def test_graphmixer_has_the_figure_of_its_weights_tested_again() -> None:
    ((_, encoder, shown, *_),) = [cells for cells in rows(CHOOSING, "GraphMixer") if len(cells) == 6]
    found = json.loads((ROOT / "experiments" / "uci-graphmixer" / f"{encoder}-1-evaluated.json").read_text())
    assert shown == f"{100 * found['random']['ap']:.2f}"


def test_us_legis_has_the_figure_of_its_weights_tested_again() -> None:
    place = ROOT / "experiments" / "uslegis-dygformer-separate" / "linear-1-evaluated.json"
    page = (ROOT / "docs" / "paper.md").read_text()
    assert (
        f"on US Legis, in bf16 and one seed, has {100 * json.loads(place.read_text())['random']['ap']:.2f} against"
        in page
    )


@pytest.mark.parametrize(("model", "folder"), [("TGN", "paper"), ("CAWN", "bf16")])
def test_tgn_and_cawn_have_the_figures_of_the_experiments_and_the_paper(model: str, folder: str) -> None:
    shown = rows(CHOOSING, model)
    assert shown
    for cells in shown:
        paper = published("tgn_cawn_test_ap_random_ns", model.lower(), cells[1], "uci")
        assert paper is not None
        assert cells[2:4] == [measured("tgn-cawn", cells[1], model, folder), f"{paper[0]:.2f} ± {paper[1]:.2f}"]


def test_cawn_with_cosine_time_has_the_figures_of_its_report() -> None:
    found = json.loads((ROOT / "experiments" / "uci-cawn" / "cosine-1.json").read_text())
    page = " ".join((ROOT / "docs" / "paper.md").read_text().split())
    best = max(found["epochs"], key=lambda epoch: epoch["validation"]["random"]["ap"])["epoch"]
    assert f"With cosine time it has {100 * found['test']['random']['ap']:.2f} against" in page
    ended = found["settings"]["epochs"]
    assert f"ended after {ended} epochs, {ended - best} after the best" in page


def measured(study: str, encoder: str, model: str = "", folder: str = "paper") -> str:
    """UCI's first figure of a published study in that row, with its deviation where it is of several runs."""
    records = csv.DictReader((ROOT / "experiments" / folder / study / "results.csv").read_text().splitlines())
    wanted = {"time_encoder": encoder, "column": "uci"} | ({"model": model.lower()} if model else {})
    found = next(record for record in records if wanted.items() <= record.items())
    spread = f" ± {float(found['deviation']):.2f}" if found["deviation"] else ""
    return f"{float(found['mean']):.2f}{spread}" if found["mean"] else ""


@pytest.mark.parametrize("model", ["recency", "popularity-recency", "popularity", "edgebank", "TGAT"])
def test_ranks_are_those_of_the_reports(model: str) -> None:
    for shown in [cells for cells in rows(CHOOSING, model) if len(cells) == 4]:
        folder = ROOT / "experiments" / ("uci-tgat" if model == "TGAT" else "uci-ranking")
        name = f"{shown[1]}-1" if model == "TGAT" else model
        found = json.loads((folder / f"{name}.json").read_text())["test"]["random"]
        assert shown[2:] == [f"{found['mrr']:.3f}", f"{found['hits@10']:.3f}"]


@pytest.mark.parametrize("model", ["recency", "popularity-recency", "popularity", "edgebank"])
def test_calibration_errors_are_those_of_the_reports(model: str) -> None:
    (shown,) = rows((ROOT / "docs" / "evaluation.md").read_text(), model)
    found = json.loads((ROOT / "experiments" / "uci-ranking" / f"{model}.json").read_text())["test"]
    assert shown[1:] == [f"{found[kind][name]:.3f}" for kind in KINDS for name in ("ece_before", "ece")]


def test_the_two_aps_are_the_report_s() -> None:
    page = (ROOT / "docs" / "evaluation.md").read_text()
    for kind in KINDS:
        found = report("linear")["selected"][kind]["test"][kind]
        assert [kind, f"{100 * found['ap']:.2f}", f"{100 * found['ap_batch']:.2f}"] in rows(page, kind)


def test_the_readme_has_the_figures_of_the_docs() -> None:
    for model in ("TGAT", "TGN", "DyGFormer", "DyGDecoder"):
        ours = [cells for cells in rows(README, model) if len(cells) == 6]
        assert ours
        assert all(cells in rows(CHOOSING, model) for cells in ours)


def test_what_the_readme_says_was_measured_is_explained_in_the_docs() -> None:
    """Every figure with a unit."""
    included = ROOT / "experiments" / "paper" / "synthetic" / "synthetic.md"
    pages = "\n".join(page.read_text() for page in (*sorted((ROOT / "docs").glob("*.md")), included))
    found = set(re.findall(r"(\d[\d.,]*)(?= times| %| s\b| ms\b| GB| pairs)", README.partition("## Measured")[2]))
    assert len(found) > 20
    assert not {number for number in found if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", pages)}
