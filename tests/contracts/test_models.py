"""Every model in the catalogue keeps the contract"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from chronolink import build
from chronolink.catalogue import find, members
from chronolink.events import TemporalGraph
from chronolink.model import LinkModel
from tests.contracts import checks
from tests.contracts.checks import Make
from tests.streams import random_graph


def makers() -> dict[str, Make]:
    """Each model with each time encoder, if it takes one, and with each kind of sampling, if it samples."""
    found: dict[str, Make] = {}
    for model in members("models"):
        taken = inspect.signature(find("models", model, LinkModel)).parameters
        for encoder in members("time_encoders") if "time_encoder" in taken else [""]:
            found[f"{model} {encoder}".strip()] = maker(model, encoder)
        for sampling in ("uniform", "time_interval_aware") if "sampling" in taken else ():
            found[f"{model} {sampling}"] = maker(model, "linear", sampling=sampling)
    return found


def maker(model: str, encoder: str, **options: object) -> Make:
    def make(graph: TemporalGraph, seed: int) -> LinkModel:
        return build(model, graph, time_encoder=encoder or "linear", seed=seed, **options)

    return make


MAKERS = makers()


@pytest.fixture(scope="module", params=[0, 3], ids=["no features", "features"])
def graph(request: pytest.FixtureRequest) -> TemporalGraph:
    return random_graph(400, 25, node_width=request.param, edge_width=request.param)


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Make:
    return MAKERS[request.param]


def test_the_future_is_invisible(make: Make, graph: TemporalGraph) -> None:
    checks.the_future_is_invisible(make, graph)


def test_asking_changes_nothing(make: Make, graph: TemporalGraph) -> None:
    checks.asking_changes_nothing(make, graph)


def test_a_question_is_answered_the_same_in_any_batch(make: Make, graph: TemporalGraph) -> None:
    checks.a_question_is_answered_the_same_in_any_batch(make, graph)


def test_the_clock_has_no_origin(make: Make, graph: TemporalGraph) -> None:
    checks.the_clock_has_no_origin(make, graph)


@pytest.mark.parametrize("name", [name for name in MAKERS if name.endswith("linear")])
def test_half_precision_rounds_no_time(name: str, graph: TemporalGraph) -> None:
    checks.half_precision_rounds_no_time(MAKERS[name], graph)


def test_reset_forgets(make: Make, graph: TemporalGraph) -> None:
    checks.reset_forgets(make, graph)


def test_a_checkpoint_restores_the_scores(make: Make, graph: TemporalGraph, tmp_path: Path) -> None:
    checks.a_checkpoint_restores_the_scores(make, graph, tmp_path)


ENCODERS = set(members("time_encoders")) - {"linear"}


@pytest.mark.parametrize("name", [name for name in MAKERS if name.split()[-1] not in ENCODERS])
def test_the_same_seed_gives_the_same_run(name: str) -> None:
    checks.the_same_seed_gives_the_same_run(MAKERS[name], random_graph(100, 15))
