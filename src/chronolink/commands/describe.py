"""Describe a data set or a file, with a picture

chronolink describe DATA [--source who --destination whom --time when] [--figure DATA.png]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import ArgumentParser
from rich.table import Table

from ..analysis.statistics import Description, describe, waits_by_part
from ..figures.description import draw
from ._arguments import command_parser, parse, tidy
from ._console import console
from ._data import add_data_options, load_data


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "data"))
    graph = load_data(settings)
    found = describe(graph)
    _show(found)
    figure = Path(settings.figure or f"{graph.name}.png")
    figure.parent.mkdir(parents=True, exist_ok=True)
    cuts = (found.last_train, found.last_validation)
    draw(figure, graph.name, graph.events.time.numpy(), cuts, waits_by_part(graph.events, *cuts))
    console.print(f"picture: {figure}", highlight=False)


def _parser() -> ArgumentParser:
    parser = command_parser("describe", __doc__)
    add_data_options(parser)
    parser.add_argument("--figure", type=str | None, help="where the picture goes (default: NAME.png)")
    return parser


def _show(found: Description) -> None:
    table = Table(title=found.name, title_justify="left", show_header=False)
    for name in ("nodes", "events", "pairs", "times"):
        table.add_row(f"distinct {name}" if name in ("pairs", "times") else name, f"{getattr(found, name):,}")
    table.add_row("first and last time", f"{found.first:,.15g} to {found.last:,.15g}")
    table.add_row("span", f"{found.span:,.15g} (if seconds: {found.span / 86_400:,.1f} days)")
    table.add_row("repeat rate", f"{found.repeat_rate:.3f}")
    table.add_row("features", f"{found.node_features} a node, {found.edge_features} an event")
    console.print(table)
    waits = Table("split", "events", title="waiting times (time since a node's previous event)", title_justify="left")
    for column in ("source mean", "median", "destination mean", "median"):
        waits.add_column(column, justify="right")
    for part in found.parts:
        numbers = (part.source.mean, part.source.median, part.destination.mean, part.destination.median)
        waits.add_row(part.name, f"{part.events:,}", *(f"{number:,.2f}" for number in numbers))
    console.print(waits)
