"""AP against width, parameters beside it"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

INK = "#222222"
SOFT = "#5c636b"
# lightness, dashes and markers tell the encoders apart without colour
LINES: tuple[dict[str, Any], ...] = (
    {"color": "#c8681f", "linestyle": "--", "marker": "s", "markerfacecolor": "white"},
    {"color": "#1b2a49", "linestyle": "-", "marker": "o"},
    {"color": "#5f9bc9", "linestyle": "-.", "marker": "^"},
    {"color": "#b0b0b0", "linestyle": ":", "marker": "D", "markerfacecolor": "white"},
)
GLYPHS = ("□", "●", "▲", "◇")
APART = 0.07  # between encoders at one width, so that their bars do not hide each other


class Point(NamedTuple):
    """One width of one encoder: what was measured, and how large the model was."""

    width: int
    mean: float
    deviation: float | None  # None below two runs
    parameters: int


Lines = Mapping[str, Sequence[Point]]  # by encoder


def curves(panels: Mapping[str, Lines], title: str, axis: str = "$d_T$", unit: str = "AP in %") -> Figure:
    """A panel a data set, a line an encoder, with the standard deviation as a bar.

    Below each width stand the parameters and their share of the largest model at the greatest width of the panel;
    encoders of the same sizes share a line.
    """
    figure, areas = _areas(len(panels))
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    for area, (data, lines) in zip(areas, panels.items(), strict=True):
        _panel(area, lines, names)
        area.set_title(data, loc="left", fontsize=10, color=INK)
        area.set_xlabel(axis, fontsize=10, color=INK)
        area.set_ylabel(unit if area.get_subplotspec().is_first_col() else "", fontsize=10, color=INK)  # type: ignore[union-attr]
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    _legend(figure, names)
    return figure


def _areas(count: int) -> tuple[Figure, list[Axes]]:
    """Rows of three; four make a square."""
    across = 2 if count == 4 else max(1, min(3, count))
    down = max(1, -(-count // across))
    figure = Figure(figsize=(3.4 * across + 0.6, 2.9 * down + 0.9), dpi=160, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # type: ignore[union-attr, call-arg]
    return figure, [figure.add_subplot(down, across, place + 1) for place in range(count)]


def share(point: Point, lines: Lines) -> float:
    """Of the parameters of the largest model at the greatest width."""
    known = [other for points in lines.values() for other in points]
    widest = max(other.width for other in known)
    return point.parameters / max(other.parameters for other in known if other.width == widest)


def _panel(area: Axes, lines: Lines, names: Sequence[str]) -> None:
    widths = sorted({point.width for points in lines.values() for point in points})
    for name, points in lines.items():
        _line(area, points, widths, names.index(name), len(names))
    area.set_xticks(range(len(widths)), _ticks(lines, names, widths))
    area.set_xlim(-0.5, max(len(widths), 1) - 0.5)
    area.grid(axis="y", color="#dddddd", linewidth=0.7)
    area.spines[["top", "right"]].set_visible(False)
    area.tick_params(colors=INK, labelsize=8.5)
    area.margins(y=0.12)
    if not widths:
        area.text(0.5, 0.5, "no runs", ha="center", va="center", color=SOFT, transform=area.transAxes)


def _line(area: Axes, points: Sequence[Point], widths: Sequence[int], number: int, count: int) -> None:
    points = sorted(points)
    shift = (number - (count - 1) / 2) * APART
    places = [widths.index(point.width) + shift for point in points]
    bars = [point.deviation or 0.0 for point in points]
    means = [point.mean for point in points]
    area.errorbar(places, means, bars, capsize=3, linewidth=1.6, markersize=5.5, **LINES[number % len(LINES)])


def _ticks(lines: Lines, names: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Width and sizes; where encoders differ in size each has its own line, after its marker."""
    sizes = {name: {point.width: _size(point, lines) for point in points} for name, points in lines.items()}
    ticks = []
    for width in widths:
        here = {GLYPHS[names.index(name) % len(GLYPHS)]: size[width] for name, size in sizes.items() if width in size}
        alike = len(set(here.values())) == 1
        below = [*here.values()][:1] if alike else [f"{glyph} {size}" for glyph, size in here.items()]
        ticks.append("\n".join([str(width), *below]))
    return ticks


def _size(point: Point, lines: Lines) -> str:
    """`667k, 100 %`"""
    count = point.parameters
    short = f"{count / 1e6:.2f}M" if count >= 1e6 else f"{count / 1e3:.0f}k" if count >= 1e4 else f"{count:,}"
    return f"{short}, {share(point, lines):.0%}".replace("%", " %")


def _legend(figure: Figure, names: Sequence[str]) -> None:
    handles = [Line2D([], [], linewidth=1.6, markersize=5.5, **LINES[n % len(LINES)]) for n in range(len(names))]
    if handles:
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False, fontsize=9)
