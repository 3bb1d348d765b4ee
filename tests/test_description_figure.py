"""The figure of describe is drawn for any stream"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from chronolink.figures.description import _border, _edges, draw

NOTHING = np.empty(0)


def drawn(path: Path, time: np.ndarray, cuts: tuple[float, float], wait: np.ndarray) -> np.ndarray:
    draw(path, "a title", time, cuts, {"train": (wait, wait), "validation": (wait, NOTHING), "test": (NOTHING, wait)})
    image: np.ndarray = imread(path)
    return image


STEPS = np.repeat(np.arange(12.0), 20)
WAITS = np.geomspace(1, 1e6, 90)


@pytest.mark.parametrize(
    ("time", "wait"),
    [
        (np.linspace(1.08e9, 1.1e9, 500), WAITS),
        (np.linspace(-5e9, 7e9, 500) ** 3, WAITS),
        (STEPS, np.zeros(9)),
        (STEPS, NOTHING),
        (np.zeros(50), np.zeros(9)),
    ],
    ids=["dates", "wide", "zero waits", "no waits", "one time"],
)
def test_any_stream_is_drawn(tmp_path: Path, time: np.ndarray, wait: np.ndarray) -> None:
    image = drawn(tmp_path / "a.png", time, (float(time[len(time) // 2]), float(time[-2])), wait)
    assert image.shape[:2] == (992, 1440)
    assert image[..., :3].std() > 0.05


def test_the_parts_differ_in_grey(tmp_path: Path) -> None:
    """The bars of the three parts fill a third of the upper area each."""
    time = np.repeat(np.arange(9.0), 20)
    image = drawn(tmp_path / "a.png", time, (2.0, 5.0), NOTHING)
    row = image[380, :, :3].mean(axis=1)
    greys = [row[place] for place in (300, 750, 1200)]
    assert greys[0] > greys[1] + 0.2 > greys[2] + 0.4


def test_few_even_times_have_a_bin_each_and_boundaries_between_bins() -> None:
    time = np.repeat([10.0, 20.0, 30.0], 4)
    edges = _edges(time)
    assert edges.tolist() == [5.0, 15.0, 25.0, 35.0]
    assert _border(20.0, edges, time) == 25.0


def test_a_figure_imports_no_torch() -> None:
    source = Path(sys.modules["chronolink.figures.description"].__file__ or "")
    program = f"import runpy, sys; runpy.run_path({str(source)!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
