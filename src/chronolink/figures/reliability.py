"""What was said against what happened"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

Bins = Mapping[str, Sequence[Any]]  # probability, happened and count, as a report keeps them

INK = "#222222"
SOFT = "#5c636b"
# lightness, dashes and markers tell the two apart without colour
LINES: dict[str, dict[str, Any]] = {
    "before": {"color": "#c8681f", "linestyle": "--", "marker": "s", "markerfacecolor": "white"},
    "after": {"color": "#1b2a49", "linestyle": "-", "marker": "o"},
}
NAMES = {"before": "sigmoid(score)", "after": "calibrated on validation"}
TICKS = (0, 0.25, 0.5, 0.75, 1)


def reliability(panels: Mapping[str, Mapping[str, Bins]], title: str) -> Figure:
    """A panel a kind of negatives: how often links happened against how probable they were called.

    Points on the diagonal hold what they promise, points below it promise too much. `before` and `after` calibration
    have a line each; the strip below has the share of the questions in each bin.
    """
    across = max(1, len(panels))
    figure = Figure(figsize=(3.2 * across + 0.6, 5.0), dpi=160, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.05)  # type: ignore[union-attr, call-arg]
    grid = figure.add_gridspec(2, across, height_ratios=[3.4, 1])
    for place, (negatives, lines) in enumerate(panels.items()):
        curve, strip = figure.add_subplot(grid[0, place]), figure.add_subplot(grid[1, place])
        _curves(curve, lines)
        _shares(strip, lines)
        curve.set_title(f"{negatives} negatives\n{_errors(lines)}", loc="left", fontsize=9.5, color=INK)
        if place == 0:
            curve.set_ylabel("share that happened", fontsize=9.5, color=INK)
            strip.set_ylabel("share of all", fontsize=9.5, color=INK)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12.5, fontweight="bold", color=INK)
    _legend(figure)
    return figure


def error(bins: Bins) -> float:
    """Expected calibration error: sum of count / all * |probability - happened|."""
    return sum(count * abs(said - came) for said, came, count in _filled(bins)) / sum(bins["count"])


def _curves(area: Axes, lines: Mapping[str, Bins]) -> None:
    area.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, linestyle=":")
    for when, bins in lines.items():
        rows = _filled(bins)
        area.plot([row[0] for row in rows], [row[1] for row in rows], linewidth=1.5, markersize=5, **LINES[when])
    area.set_ylim(-0.03, 1.03)
    _tidy(area)
    area.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    area.set_xticklabels([])


def _shares(area: Axes, lines: Mapping[str, Bins]) -> None:
    """Outlines, so that neither hides the other."""
    for when, bins in lines.items():
        size = len(bins["count"])
        shares = [count / sum(bins["count"]) for count in bins["count"]]
        edges = [place / size for place in range(size + 1)]
        style = {key: LINES[when][key] for key in ("color", "linestyle")}
        area.stairs(shares, edges, linewidth=1.5, fill=False, **style)
    _tidy(area)
    area.set_ylim(bottom=0)
    area.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    area.set_xlabel("probability", fontsize=9.5, color=INK)


def _tidy(area: Axes) -> None:
    area.set_xlim(-0.03, 1.03)
    area.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    area.grid(color="#dddddd", linewidth=0.7)
    area.set_axisbelow(True)
    area.spines[["top", "right"]].set_visible(False)
    area.tick_params(colors=INK, labelsize=8.5)


def _errors(lines: Mapping[str, Bins]) -> str:
    """`ECE 0.031 before, 0.012 after`"""
    return "ECE " + ", ".join(f"{error(bins):.3f} {when}" for when, bins in lines.items())


def _filled(bins: Bins) -> list[tuple[float, float, int]]:
    rows = zip(bins["probability"], bins["happened"], bins["count"], strict=True)
    return [row for row in rows if row[2]]


def _legend(figure: Figure) -> None:
    handles = [Line2D([], [], linewidth=1.5, markersize=5, **LINES[when]) for when in NAMES]
    names = [f"{when}: {name}" for when, name in NAMES.items()]
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
