"""Attention over elapsed times, in panels"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from .description import DAY, ELAPSED, INK

if TYPE_CHECKING:
    from ..analysis.attention import Cells

Array = NDArray[np.float64]

COLOURS = colormaps["magma_r"]  # lightness falls evenly: the darker, the more attention, in grey, too
UNITS = {1: "seconds", 60: "minutes", 3600: "hours", DAY: "days", 365 * DAY: "years"}
TICKS = MaxNLocator(5, steps=[1, 2, 5, 10])
NOW = 2.0  # bins that the asked event takes on a logarithmic axis
CLEAR = 0.1  # share of an axis that its zero keeps free of other ticks
LOUDEST = 0.99  # share of the pairs that the colours tell apart


def draw(panels: Mapping[str, Cells], title: str, seconds: bool = True) -> Figure:
    """A panel a model, side by side: x is t - t_k, y is t - t_q, the colour the mean score, on one scale for all.

    panels: by their titles; seconds: times are seconds and get named units, all others stay numbers. Cells without
    a score are hatched.
    """
    figure = Figure(figsize=(1.7 + 2.9 * len(panels), 3.9), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    areas = list(figure.subplots(1, len(panels), squeeze=False)[0])
    colour = Normalize(0, _highest(panels))
    for area, (name, cells) in zip(areas, panels.items(), strict=True):
        ruler = _ruler(cells, seconds)
        mesh = _mesh(area, cells, ruler, colour)
        _axes(area, ruler, first=area is areas[0])
        area.set_title(name, fontsize=10, color=INK)
    bar = figure.colorbar(mesh, ax=areas, label="mean attention score", pad=0.01, aspect=25, extend="max")
    bar.ax.tick_params(colors=INK, labelsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    return figure


@dataclass(frozen=True, slots=True)
class _Ruler:
    """How elapsed times are laid along both axes."""

    edges: Array  # of the bins, where they are drawn
    ticks: Array
    names: list[str]
    unit: str = ""


def _ruler(cells: Cells, seconds: bool) -> _Ruler:
    return (_logarithm if cells.bins.logarithmic else _even)(cells.bins.edges, seconds)


def _logarithm(edges: Array, seconds: bool) -> _Ruler:
    """A bin is as wide as any other, but for the asked event's."""
    drawn = np.append(0.0, NOW + np.arange(len(edges) - 1))
    powers = {10.0**power: f"{10.0**power:g}" for power in range(-9, 19)}
    marks = {mark: name for mark, name in (ELAPSED if seconds else powers).items() if edges[1] <= mark <= edges[-1]}
    ticks = np.interp(np.log([*marks, 1.0])[:-1], np.log(edges[1:]), drawn[1:])
    clear = ticks > NOW / 2 + CLEAR * drawn[-1]
    names = [name for name, kept in zip(marks.values(), clear, strict=True) if kept]
    return _Ruler(drawn, np.append(NOW / 2, ticks[clear]), ["0", *names])


def _even(edges: Array, seconds: bool) -> _Ruler:
    """True to scale, in the largest unit that counts to three."""
    scale, unit = 1, ""
    if seconds:
        scale = max(size for size in UNITS if size == 1 or 3 * size <= edges[-1])
        unit = f" ({UNITS[scale]})"
    drawn = edges / scale
    ticks = np.array([tick for tick in TICKS.tick_values(*drawn[[0, -1]]) if drawn[0] <= tick <= drawn[-1]])
    return _Ruler(drawn, ticks, [f"{tick:g}" for tick in ticks], unit)


def _highest(panels: Mapping[str, Cells]) -> float:
    """The score that all but the loudest pairs stay below."""
    means = np.concatenate([cells.mean[cells.count > 0] for cells in panels.values()])
    counts = np.concatenate([cells.count[cells.count > 0] for cells in panels.values()])
    if not len(means):
        return 1.0
    order = np.argsort(means)
    share = np.cumsum(counts[order]) / counts.sum()
    return float(means[order][np.searchsorted(share, LOUDEST)]) or 1.0


def _mesh(area: Axes, cells: Cells, ruler: _Ruler, colour: Normalize) -> QuadMesh:
    area.patch.set(facecolor="white", edgecolor="#cccccc", hatch="/////", linewidth=0)
    return area.pcolormesh(ruler.edges, ruler.edges, np.ma.masked_invalid(cells.mean), cmap=COLOURS, norm=colour)


def _axes(area: Axes, ruler: _Ruler, first: bool) -> None:
    area.set_box_aspect(1)
    area.set_xticks(ruler.ticks, ruler.names)
    area.set_yticks(ruler.ticks, ruler.names if first else [])
    area.set_xlabel(f"$t - t_k${ruler.unit}", color=INK)
    if first:
        area.set_ylabel(f"$t - t_q${ruler.unit}", color=INK)
    area.spines[["top", "right"]].set_visible(False)
    area.tick_params(colors=INK, labelsize=8)
