"""The model and the encoder that the docs add keep the contract"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from chronolink.build import build_time_encoder
from chronolink.catalogue import members
from tests.contracts import checks
from tests.contracts.checks import Make
from tests.contracts.test_models import maker
from tests.streams import random_graph
from tests.workshop import catalogued

pytestmark = pytest.mark.xdist_group("docs")  # the catalogue is changed for a while

OURS = [("acquaintance", encoder) for encoder in ("linear", "cosine", "position", "logarithm")]
BUILT = [*OURS, ("tgat", "logarithm"), ("graphmixer", "logarithm")]


@pytest.fixture(autouse=True)
def both() -> Iterator[None]:
    with catalogued():
        yield


@pytest.fixture(params=BUILT, ids=" ".join)
def make(request: pytest.FixtureRequest) -> Make:
    return maker(*request.param)


def test_a_file_is_all_that_it_takes() -> None:
    assert "acquaintance" in members("models")
    assert "logarithm" in members("time_encoders")


def test_both_keep_the_contract(make: Make, tmp_path: Path) -> None:
    for width in (0, 3):
        graph = random_graph(400, 25, node_width=width, edge_width=width)
        checks.the_future_is_invisible(make, graph)
        checks.asking_changes_nothing(make, graph)
        checks.a_question_is_answered_the_same_in_any_batch(make, graph)
        checks.the_clock_has_no_origin(make, graph)
        checks.reset_forgets(make, graph)
        checks.a_checkpoint_restores_the_scores(make, graph, tmp_path)


def test_the_same_seed_gives_the_same_run() -> None:
    checks.the_same_seed_gives_the_same_run(maker("acquaintance", "logarithm"), random_graph(200, 15))


def test_the_lines_of_the_logarithm_are_its_features() -> None:
    encoder = build_time_encoder("logarithm", width=5).double()
    encoder.scale.mean.fill_(60.0)
    elapsed = torch.tensor([0.0, 1.0, 3600.0, 1e9], dtype=torch.float64)
    lines = encoder.affine()
    assert lines is not None
    number = encoder.number(elapsed)
    torch.testing.assert_close(number, torch.tensor([0.0, 1 / 60, 60.0, 1e9 / 60], dtype=torch.float64).log1p())
    torch.testing.assert_close(encoder(elapsed), number.unsqueeze(-1) * lines[:, 0] + lines[:, 1])


def test_a_logarithm_that_was_fitted_on_nothing_stays_finite() -> None:
    assert bool(build_time_encoder("logarithm")(torch.tensor([0.0, 1e12])).isfinite().all())
