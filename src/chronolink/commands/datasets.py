"""List the data sets, with statistics

chronolink datasets
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from ..dataset import datasets
from ._arguments import command_parser, parse, tidy
from ._console import console


def main(arguments: Sequence[str]) -> None:
    parse(command_parser("datasets", __doc__), tidy(arguments, "data"))
    table = Table("name", "what it is", "on disk")
    for column in ("nodes", "events", "pairs", "times"):
        table.add_column(column, justify="right")
    for dataset in datasets():
        about = dataset.about if dataset.note is None else f"{dataset.about}; {dataset.note}"
        place = "bundled" if dataset.bundled else "yes" if dataset.on_disk else "no"
        counts = [dataset.nodes, dataset.events, dataset.pairs, dataset.times]
        table.add_row(dataset.name, about, place, *("" if count is None else f"{count:,}" for count in counts))
    console.print(table)
    console.print("A set that is not on disk is fetched when it is first used.")
