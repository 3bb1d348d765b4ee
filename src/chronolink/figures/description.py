"""Events over time, waiting times by part"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator, PercentFormatter, StrMethodFormatter
from numpy.typing import NDArray

Array = NDArray[np.float64]
Waits = Mapping[str, tuple[Array, Array]]  # part -> (source's, destination's)

INK = "#222222"
# lightness and dashes tell the parts apart without colour
COLOURS = {"train": "#9cc3e6", "validation": "#c8681f", "test": "#1b2a49"}
LINES = {"train": ("-", 3.0), "validation": ((0, (4, 1.5)), 2.0), "test": ("-", 1.4)}
BINS = 160
UNIX = (3e8, 4.1e9)  # seconds between 1979 and 2099: taken for dates
DAY = 86_400  # a date of matplotlib is the days since 1970
ELAPSED = {1: "1 s", 60: "1 min", 3600: "1 h", DAY: "1 d", 7 * DAY: "1 w", 365 * DAY: "1 y"}


def draw(path: Path | str, title: str, time: Array, cuts: tuple[float, float], waits: Waits) -> None:
    """Write a PNG: events over time with the parts of the split, and how long nodes wait in each part.

    time: of all events, in order; cuts: last time of training and of validation. Times that look like Unix
    seconds get a calendar and waiting times named units; all others stay numbers.
    """
    figure = Figure(figsize=(9, 6.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    areas = figure.subplot_mosaic([["events", "events"], ["source", "destination"]], height_ratios=[1, 1.15])
    dated = bool(UNIX[0] <= time[0] and time[-1] <= UNIX[1])
    _events(areas["events"], time, cuts, dated)
    for side, end in enumerate(("source", "destination")):
        _waits(areas[end], {part: pair[side] for part, pair in waits.items()}, dated)
        areas[end].set_title(f"Time since the {end}'s previous event", loc="left", fontsize=10, color=INK)
    areas["source"].set_ylabel("share of events up to that wait", color=INK)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    figure.savefig(path, format="png")


def _events(area: Axes, time: Array, cuts: tuple[float, float], dated: bool) -> None:
    edges = _edges(time)
    scale = DAY if dated else 1
    below = np.zeros(len(edges) - 1)
    for part, piece in zip(COLOURS, np.split(time, np.searchsorted(time, cuts, side="right")), strict=True):
        counts = np.histogram(piece, edges)[0] + below
        label = f"{part}  {len(piece):,}"
        area.stairs(counts, edges / scale, baseline=below, fill=True, color=COLOURS[part], label=label)
        below = counts
    for cut in cuts:
        area.axvline(_border(cut, edges, time) / scale, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    area.set_xlim(edges[0] / scale, edges[-1] / scale)
    area.set_ylabel("events", color=INK)
    area.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _time_axis(area, dated)
    _events_title(area)


def _events_title(area: Axes) -> None:
    area.set_title("Events over time", loc="left", fontsize=10, color=INK)
    area.legend(
        loc="lower right",
        bbox_to_anchor=(1, 0.99),
        ncols=3,
        columnspacing=1.6,
        frameon=False,
        fontsize=9,
        handlelength=1,
    )
    _bare(area)


def _edges(time: Array) -> Array:
    """Bins of equal width; few and evenly spaced times get a bin each, with the time in its middle."""
    step = np.unique(time)
    apart = np.diff(step)
    if 1 < len(step) <= BINS and np.allclose(apart, apart[0]):
        return np.append(step - apart[0] / 2, step[-1] + apart[0] / 2)
    return np.linspace(time[0], max(time[-1], time[0] + 1), BINS + 1)


def _border(cut: float, edges: Array, time: Array) -> float:
    """Where to draw a boundary: behind the whole bin where a bin is one time."""
    return float(edges[np.searchsorted(edges, cut)]) if edges[0] < time[0] else cut


def _time_axis(area: Axes, dated: bool) -> None:
    if not dated:
        area.set_xlabel("time", color=INK)
        return
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    area.xaxis.set_major_locator(locator)
    area.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _waits(area: Axes, waits: Mapping[str, Array], dated: bool) -> None:
    """Cumulative shares, so that waits of zero, which no logarithm knows, still show as the height on the left."""
    grid = _grid(np.concatenate([*waits.values()]))
    for part, found in waits.items():
        dashes, width = LINES[part]
        if len(found):
            shares = np.searchsorted(np.sort(found), grid, side="right") / len(found)
            area.plot(grid, shares, color=COLOURS[part], linestyle=dashes, linewidth=width, label=part)
    area.set_xscale("log")
    area.set_xlim(grid[0], grid[-1])
    area.set_ylim(0, 1.03)
    area.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    area.grid(color="#dddddd", linewidth=0.7)
    if area.lines:
        area.legend(loc="lower right", frameon=False, fontsize=9)
    _wait_axis(area, grid, dated)
    _bare(area)


def _grid(waits: Array) -> Array:
    known = waits[waits > 0]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 1.0)
    grid: Array = np.geomspace(low / 2, max(high * 2, low * 20), 500)
    return grid


def _wait_axis(area: Axes, grid: Array, dated: bool) -> None:
    if not dated:
        area.set_xlabel("wait, in the unit of the times", color=INK)
        area.xaxis.set_minor_formatter(NullFormatter())
        return
    area.set_xticks([unit for unit in ELAPSED if grid[0] <= unit <= grid[-1]])
    area.xaxis.set_major_formatter(FuncFormatter(lambda value, _: ELAPSED.get(round(value), "")))
    area.xaxis.set_minor_locator(NullLocator())


def _bare(area: Axes) -> None:
    area.spines[["top", "right"]].set_visible(False)
    area.tick_params(colors=INK, labelsize=9)
