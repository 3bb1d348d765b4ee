"""The reliability diagram shows the report's bins and nothing else"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from chronolink.calibration import Calibration
from chronolink.calibration import reliability as bins_of
from chronolink.figures.reliability import LINES, error, reliability
from chronolink.metrics import trust
from tests.test_calibration import calibrated

SCORES = calibrated(400)
LINE = {"before": asdict(bins_of(*SCORES, Calibration())), "after": asdict(bins_of(*SCORES, Calibration(2.5)))}
EMPTY: dict[str, list[Any]] = {"probability": [None, 0.6], "happened": [None, 0.5], "count": [0, 8]}


def drawn(figure: Figure) -> Any:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=40)
    file.seek(0)
    return imread(file)


def test_points_are_the_bins_with_something_in_them() -> None:
    lines = reliability({"random": {"before": EMPTY, "after": LINE["after"]}}, "uci").axes[0].lines
    assert [list(line.get_xdata()) for line in lines[1:2]] == [[0.6]]
    filled = [place for place, count in enumerate(LINE["after"]["count"]) if count]
    for values, name in ((lines[2].get_xdata(), "probability"), (lines[2].get_ydata(), "happened")):
        assert list(values) == [LINE["after"][name][place] for place in filled]


def test_the_diagonal_is_what_holds() -> None:
    diagonal = reliability({"random": LINE}, "uci").axes[0].lines[0]
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]


def test_the_error_above_a_panel_is_that_of_the_metrics() -> None:
    found = trust(*SCORES, Calibration(2.5))
    assert [error(LINE["before"]), error(LINE["after"])] == pytest.approx([found["ece_before"], found["ece"]])
    title = reliability({"random": LINE}, "uci").axes[0].get_title(loc="left")
    assert title == f"random negatives\nECE {found['ece_before']:.3f} before, {found['ece']:.3f} after"


def test_the_strip_below_has_the_share_of_each_bin() -> None:
    strip = reliability({"random": LINE}, "uci").axes[1]
    shares = strip.patches[1].get_data().values  # type: ignore[attr-defined]
    np.testing.assert_allclose(shares, np.array(LINE["after"]["count"]) / 400)


@pytest.mark.parametrize("count", range(4))
def test_any_number_of_panels_is_drawn(count: int) -> None:
    figure = reliability({f"kind {place}": LINE for place in range(count)}, "uci")
    assert len(figure.axes) == 2 * count
    assert drawn(figure)[..., :3].std() > 0.005


def test_it_is_written_as_pdf_too() -> None:
    file = BytesIO()
    reliability({"random": LINE}, "uci").savefig(file, format="pdf")
    assert file.getvalue().startswith(b"%PDF")


def test_the_two_lines_differ_in_grey_dashes_and_marker() -> None:
    before, after = (float(np.dot(to_rgb(LINES[when]["color"]), (0.299, 0.587, 0.114))) for when in LINES)
    assert abs(before - after) > 0.25
    assert all(LINES["before"][style] != LINES["after"][style] for style in ("linestyle", "marker"))


def test_the_figure_imports_no_torch() -> None:
    source = Path(sys.modules["chronolink.figures.reliability"].__file__ or "")
    program = f"import runpy, sys; runpy.run_path({str(source)!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
