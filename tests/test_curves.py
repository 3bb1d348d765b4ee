"""The figure of AP against width says how large a model is"""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from chronolink.figures.curves import LINES, Point, curves, share

SAME = {
    "cosine": [Point(100, 80.3, 0.4, 666_000), Point(2, 76.0, 0.5, 380_000), Point(50, 78.0, None, 513_000)],
    "linear": [Point(100, 95.4, 0.1, 666_000), Point(2, 93.0, 0.5, 380_000), Point(50, 95.0, None, 513_000)],
}
OTHER = {"cosine": [Point(50, 96.0, 0.1, 1_087_000)], "linear": [Point(50, 96.0, 0.4, 980_000)]}


def ticks(figure: Figure, panel: int = 0) -> list[str]:
    return [label.get_text() for label in figure.axes[panel].get_xticklabels()]


def test_widths_stand_in_order_with_parameters_and_their_share() -> None:
    assert ticks(curves({"UCI": SAME}, "TGAT")) == ["2\n380k, 57 %", "50\n513k, 77 %", "100\n666k, 100 %"]


def test_encoders_of_other_sizes_have_a_line_each_after_their_marker() -> None:
    assert ticks(curves({"UCI": OTHER}, "DyGFormer")) == ["50\n□ 1.09M, 100 %\n● 980k, 90 %"]


def test_the_share_is_of_the_largest_model_at_the_greatest_width() -> None:
    assert share(SAME["linear"][1], SAME) == pytest.approx(380 / 666)
    assert share(OTHER["linear"][0], OTHER) == pytest.approx(980 / 1087)


def test_lines_go_through_the_means_and_bars_are_the_deviations() -> None:
    area = curves({"UCI": SAME}, "TGAT").axes[0]
    cosine = area.containers[0]
    assert cosine.lines[0].get_ydata().tolist() == [76.0, 78.0, 80.3]  # type: ignore[attr-defined]
    bars = [np.ptp(segment[:, 1]) for segment in cosine.lines[2][0].get_segments()]  # type: ignore[attr-defined]
    assert bars == pytest.approx([1.0, 0.0, 0.8])


@pytest.mark.parametrize("count", range(8))
def test_any_number_of_panels_is_drawn(count: int) -> None:
    panels = {f"data {place}": SAME if place else {} for place in range(count)}
    file = BytesIO()
    curves(panels, "a title", "$d_{tc}$").savefig(file, format="png", dpi=40)
    file.seek(0)
    assert imread(file)[..., :3].std() > 0.01
    assert len(curves(panels, "a title").axes) == count


def test_a_width_that_one_encoder_lacks_is_left_out_of_its_line() -> None:
    area = curves({"UCI": {"cosine": SAME["cosine"], "linear": SAME["linear"][:1]}}, "TGAT").axes[0]
    assert [len(line.lines[0].get_xdata()) for line in area.containers] == [3, 1]  # type: ignore[attr-defined]


def test_neighbouring_lines_differ_in_grey_dashes_and_marker() -> None:
    greys = [float(np.dot(to_rgb(line["color"]), (0.299, 0.587, 0.114))) for line in LINES]
    assert all(abs(first - second) > 0.09 for first, second in pairwise(greys))
    assert len({line["linestyle"] for line in LINES}) == len({line["marker"] for line in LINES}) == len(LINES)


def test_the_figure_imports_no_torch() -> None:
    source = Path(sys.modules["chronolink.figures.curves"].__file__ or "")
    program = f"import runpy, sys; runpy.run_path({str(source)!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
