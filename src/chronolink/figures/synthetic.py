"""Synthetic task: accuracies and attention drawn"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import fmean, stdev

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

Curve = Mapping[int, Sequence[float]]  # width of the encoding -> the accuracies of its runs
Panel = Mapping[str, Curve]  # encoder -> its curve

Dashes = str | tuple[float, tuple[float, ...]]
Style = tuple[str, str, Dashes]  # colour, mark, dashes

INK = "#222222"
# lightness, marks and dashes tell the lines apart without colour
STYLES: tuple[Style, ...] = (("#1b2a49", "o", "-"), ("#c8681f", "s", (0, (5, 1.5))), ("#7fb2dd", "^", (0, (1, 1.2))))


def accuracies(panels: Mapping[str, Panel], oracle: float) -> Figure:
    """Test accuracy against the width of the time encoding, a panel a transformer, such as "1 layer, full".

    A line an encoder: the mean of its runs, in a band of one standard deviation; the oracle is dashed.
    """
    figure = _figure(2.7 * len(panels) + 0.5)
    areas = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for area, (title, panel) in zip(areas, panels.items(), strict=True):
        for style, (encoder, curve) in zip(cycle(STYLES), panel.items(), strict=False):
            _curve(area, encoder, curve, style)
        area.axhline(oracle, color=INK, linewidth=1, linestyle=(0, (6, 4)), label="oracle")
        _widths(area, sorted({width for curve in panel.values() for width in curve}))
        _dress(area, title)
    areas[0].set_ylabel("test accuracy", color=INK)
    areas[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    _legend(figure, areas[0])
    return figure


def attention(panels: Mapping[str, Sequence[float]], true: Sequence[float]) -> Figure:
    """Mean attention to each event, oldest first: the learnt, a panel a model, against that of the labels."""
    figure = _figure(3.4 * len(panels) + 0.4)
    areas = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    index = range(1, len(true) + 1)
    for area, (title, learnt) in zip(areas, panels.items(), strict=True):
        area.bar(index, true, width=0.7, color="#d3dbe4", label="true")
        area.plot(index, learnt, color="#1b2a49", marker="o", markersize=5, linewidth=1.6, label="learnt")
        area.set_xticks(list(index))
        area.set_xlabel("event $m$", color=INK)
        _dress(area, title)
    areas[0].set_ylabel("mean attention", color=INK)
    _legend(figure, areas[0])
    return figure


def _figure(width: float) -> Figure:
    figure = Figure(figsize=(width, 3.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _curve(area: Axes, encoder: str, curve: Curve, style: Style) -> None:
    colour, mark, dashes = style
    widths = sorted(curve)
    mean = [fmean(curve[width]) for width in widths]
    spread = [stdev(curve[width]) if len(curve[width]) > 1 else 0.0 for width in widths]
    low = [middle - apart for middle, apart in zip(mean, spread, strict=True)]
    high = [middle + apart for middle, apart in zip(mean, spread, strict=True)]
    area.fill_between(widths, low, high, color=colour, alpha=0.16, linewidth=0)
    area.plot(widths, mean, color=colour, marker=mark, markersize=5, linestyle=dashes, linewidth=1.6, label=encoder)


def _widths(area: Axes, widths: Sequence[int]) -> None:
    """Each width is twice the last, so they stand evenly."""
    area.set_xscale("log", base=2)
    area.set_xticks(widths, [str(width) for width in widths])
    area.minorticks_off()
    area.set_xlabel("width of the time encoding, $d_T$", color=INK)


def _dress(area: Axes, title: str) -> None:
    area.set_title(title, loc="left", fontsize=10, color=INK)
    area.grid(axis="y", color="#dddddd", linewidth=0.7)
    area.set_axisbelow(True)
    area.spines[["top", "right"]].set_visible(False)
    area.tick_params(colors=INK, labelsize=9)


def _legend(figure: Figure, area: Axes) -> None:
    """One for all panels, above them."""
    marks, labels = area.get_legend_handles_labels()
    figure.legend(marks, labels, loc="outside upper right", ncols=len(labels), frameon=False, fontsize=9)
