"""Linear against cosine time on real events, in minutes

chronolink demo [--out demo] [--epochs 3]

TGAT with linear and with cosine time on UCI, the memory-only EdgeBank beside them, and the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from ..build import build
from ..dataset import load
from ..events import TemporalGraph
from ..paper import published
from ..report import Report
from ..training.fit import fit
from ..training.options import Training
from ._arguments import command_parser, parse, tidy
from ._console import console, messages, watcher

ROWS = (("edgebank", None), ("recency", None), ("tgat", "cosine"), ("tgat", "linear"))


def main(arguments: Sequence[str]) -> None:
    parser = command_parser("demo", __doc__)
    parser.add_argument("--out", type=str, default="demo", help="the folder for the runs")
    parser.add_argument("--epochs", type=int, default=3, help="of training; the paper trains until early stopping")
    parser.add_argument("--data", type=str, default="uci", help="the data set")
    settings = parse(parser, tidy(arguments, "data"))
    graph = load(settings.data)
    training = Training(epochs=settings.epochs, select_by="random,historical")
    reports = [_run(graph, training, model, encoder, Path(settings.out)) for model, encoder in ROWS]
    console.print(_table(graph, reports))
    console.print(
        "AP and AUC over all test events and as many links that did not happen, in per cent. Paper: mean of five runs\n"
        f"until early stopping (here {settings.epochs} epochs, one run). EdgeBank and recency learn nothing: one says\n"
        f"yes to all pairs that met before, the other goes by how long ago. Each run is a folder in {settings.out}/.",
        highlight=False,
    )


def _run(graph: TemporalGraph, training: Training, model: str, encoder: str | None, out: Path) -> Report:
    name = model if encoder is None else f"{model}-{encoder}"
    messages.print(f"[bold]{name}[/] on {graph.name}")
    built = build(model, graph, time_encoder=encoder or "linear", seed=training.seed)
    return fit(built, graph, training, out=out / name, watch=watcher())


def _table(graph: TemporalGraph, reports: Sequence[Report]) -> Table:
    table = Table("model", "time", title=f"{graph.name}: links that come next", title_justify="left")
    for negatives in ("random", "historical"):
        for column in (f"{negatives}: AP", "paper's AP", "AUC"):
            table.add_column(column, justify="right")
    for (model, encoder), report in zip(ROWS, reports, strict=True):
        cells: list[str] = []
        for negatives in ("random", "historical"):
            found: Any = report.selected[negatives]["test"][negatives]
            paper = published(f"test_ap_{negatives}_ns", model, encoder or "", graph.name)
            cells += [_percent(found["ap"]), f"{paper[0]:.2f}" if paper else "", _percent(found["auc"])]
        table.add_row(model, encoder or "", *cells)
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
