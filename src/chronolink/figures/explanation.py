"""What a score rests on, over time"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from .description import DAY, INK

if TYPE_CHECKING:
    from ..answers import Contribution, Explanation

SOFT = "#8a9199"
# filled or hatched, up or down: for and against differ without colour
FOR: dict[str, Any] = {"facecolor": "#1b2a49", "edgecolor": "#1b2a49"}
AGAINST: dict[str, Any] = {"facecolor": "white", "edgecolor": "#c8681f", "hatch": "////"}
NUMBERED = 9  # events that are listed beside the panels
NARROW = 0.008  # a bar's share of the time line
EARLIER = 0.15  # of the time line, before the first event that is weighed
NEAR = 0.015  # numbers closer than this share stand above each other
LONGEST = 18  # letters of a name
YEARS = (-6.2e10, 2.5e11)  # seconds between the years 6 and 9892: what a calendar can show


def draw(
    explanation: Explanation,
    past: Mapping[str, Sequence[float]],
    dated: bool,
    shown: Callable[[float], str],
) -> Figure:
    """A panel an end: its past events as marks on the time line, what each adds to the score as a bar.

    past: times of each end's events before the asked time, weighed or not; dated: times are seconds since 1970 and get
    a calendar; shown: a time for the list of the weightiest events, whose numbers stand at their bars.
    """
    dated = dated and YEARS[0] < explanation.at < YEARS[1]
    figure = Figure(figsize=(10, 1.3 + 2.2 * len(past)), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    rows = [[f"end {place}", "list"] for place in range(len(past))]
    areas = figure.subplot_mosaic(rows, width_ratios=[2.6, 1])  # type: ignore[arg-type]
    ruler = _Ruler.of(explanation, past, dated)
    for place, (end, times) in enumerate(past.items()):
        _panel(areas[f"end {place}"], explanation, end, times, ruler)
        _axes(areas[f"end {place}"], ruler, dated, last=place == len(past) - 1)
    _list(areas["list"], explanation.events[:NUMBERED], shown)
    pair = f"{_short(explanation.source)} → {_short(explanation.destination)}, {shown(explanation.at)}"
    title = f"{pair}: score {explanation.score:.3f}, probability {explanation.probability:.3f}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK, parse_math=False)
    return figure


@dataclass(frozen=True, slots=True)
class _Ruler:
    """Time and weight as all panels lay them out; events long before those that are weighed are left out."""

    unit: float  # of the axis, in that of the times
    first: float
    asked: float
    low: float
    high: float

    @property
    def span(self) -> float:
        return (self.asked - self.first) or 1.0

    @classmethod
    def of(cls, explanation: Explanation, past: Mapping[str, Sequence[float]], dated: bool) -> _Ruler:
        unit, weights = DAY if dated else 1, [event.weight for event in explanation.events]
        known = [event.time for event in explanation.events] or [time for times in past.values() for time in times]
        tallest = max(map(abs, weights), default=0.0) or 1.0
        low, high = min(0.0, *weights, -0.15 * tallest), max(0.0, *weights, 0.15 * tallest)
        first = min(known, default=explanation.at)
        first -= EARLIER * (explanation.at - first)
        return cls(unit, first / unit, explanation.at / unit, low, high)


def _panel(area: Axes, explanation: Explanation, end: str, times: Sequence[float], ruler: _Ruler) -> None:
    weighed = [event for event in explanation.events if end in (event.source, event.destination)]
    area.axhline(0, color=INK, linewidth=0.8)
    area.axvline(ruler.asked, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    area.plot([time / ruler.unit for time in times], [0] * len(times), "|", color=SOFT, markersize=9, zorder=1)
    for sign, style in ((1, FOR), (-1, AGAINST)):
        chosen = [event for event in weighed if event.weight * sign > 0]
        places, weights = [event.time / ruler.unit for event in chosen], [event.weight for event in chosen]
        # a bar ends at its event, so that none reaches over the asked time
        area.bar(places, weights, -NARROW * ruler.span, align="edge", linewidth=0.8, zorder=2, **style)
    _numbers(area, explanation.events[:NUMBERED], end, ruler)
    said = f"{len(weighed):,} past events weighed" if times else "no past events"
    area.set_title(f"{_short(end)}: {said}", loc="left", fontsize=10, color=INK, parse_math=False)


def _numbers(area: Axes, events: Sequence[Contribution], end: str, ruler: _Ruler) -> None:
    """The places in the list, at the tips of the bars; neighbours are stacked."""
    written: list[tuple[float, bool]] = []
    for number, event in enumerate(events, 1):
        if end not in (event.source, event.destination):
            continue
        place, up = event.time / ruler.unit, event.weight >= 0
        level = sum(abs(place - other) < NEAR * ruler.span and up == side for other, side in written)
        offset = (3 + 9 * level) * (1 if up else -1)
        area.annotate(
            str(number),
            (place - NARROW * ruler.span / 2, event.weight),
            (0, offset),
            textcoords="offset points",
            ha="center",
            va="bottom" if up else "top",
            fontsize=8,
            color=INK,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
        written.append((place, up))


def _axes(area: Axes, ruler: _Ruler, dated: bool, last: bool) -> None:
    margin = 0.18 * (ruler.high - ruler.low)  # room for the numbers
    area.set_xlim(ruler.first - 0.03 * ruler.span, ruler.asked + 0.03 * ruler.span)
    area.set_ylim(ruler.low - margin, ruler.high + margin)
    area.text(ruler.asked, ruler.high + margin, "asked", ha="center", va="bottom", fontsize=8, color=INK)
    area.set_ylabel("score with the event\nminus without", fontsize=9, color=INK)
    area.spines[["top", "right"]].set_visible(False)
    area.tick_params(colors=INK, labelsize=9)
    if dated:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        area.xaxis.set_major_locator(locator)
        area.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif last:
        area.set_xlabel("time", color=INK)


def _list(area: Axes, events: Sequence[Contribution], shown: Callable[[float], str]) -> None:
    area.axis("off")
    lines = [
        f"{number}  {event.weight:+.3g}  {_short(event.source)} → {_short(event.destination)}\n    {shown(event.time)}"
        for number, event in enumerate(events, 1)
    ]
    text = "\n".join(lines) or "the score rests on no past event"
    area.text(0, 1, text, va="top", fontsize=8, linespacing=1.35, color=INK, parse_math=False)
    patches = [Patch(label="speaks for the link", **FOR), Patch(label="speaks against it", **AGAINST)]
    area.legend(handles=patches, loc="lower left", frameon=False, fontsize=8, bbox_to_anchor=(-0.05, -0.02))


def _short(name: str) -> str:
    """A name on one line, cut where it is long."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
