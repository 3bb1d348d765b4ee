"""Who is likely to be met next, by name

chronolink rank RUN --node alice [--at 2024-05-01] [--top 10] [--candidates all|seen|FILE] [--json]
chronolink rank RUN --nodes FILE [--out ranks.csv]
chronolink rank RUN --all [--out ranks.parquet]

FILE names nodes, one a line, or is a table with a column of names. One node gets a table; several, or --out, get rows
of node, rank, candidate, probability, score and last_met, as CSV unless --out ends with .parquet or .jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from jsonargparse import ArgumentParser, Namespace
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ..errors import ChronolinkError, at_least_one
from ..predictor import Candidates, Predictor
from ..readers.times import shown
from ._answers import ROWS, add_run_options, add_time_option, asked, opened, read_nodes, rows_to, said, writable
from ._arguments import command_parser, parse, tidy
from ._console import console, messages

AT_ONCE = 10_000  # rows that are held before they are written
Rows = list[dict[str, Any]]


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "run"))
    if [settings.node is not None, settings.nodes is not None, settings.all].count(True) != 1:
        raise ChronolinkError("rank for whom? give one of --node NAME, --nodes FILE and --all")
    if settings.json and (settings.node is None or settings.out):
        raise ChronolinkError("--json prints one node's table; give --node alone, or rows with --out ranks.jsonl")
    at_least_one(top=settings.top)
    out, at = writable(settings.out, ROWS), asked(settings)
    with opened(settings) as predictor:
        candidates = _candidates(settings, predictor)
        if settings.node is not None and out is None:
            _show(predictor, _rows(predictor, settings.node, at, settings.top, candidates), settings, at)
            return
        nodes = _nodes(settings, predictor, at)
        with rows_to(out) as write:
            for frame in _frames(predictor, nodes, at, settings.top, candidates):
                write(frame)
    if out is not None:
        messages.print(f"nodes ranked for: {len(nodes):,} ({out})", highlight=False, markup=False, soft_wrap=True)


def _parser() -> ArgumentParser:
    parser = command_parser("rank", __doc__)
    add_run_options(parser)
    parser.add_argument("--node", type=str, default=None, help="the name of one node")
    parser.add_argument("--nodes", type=str, default=None, help="a file of names")
    parser.add_argument("--all", action="store_true", help="every node that was a source before the asked time")
    parser.add_argument("--column", type=str, default=None, help="the column of names, in tables with several columns")
    add_time_option(parser)
    parser.add_argument("--top", type=int, default=10, help="candidates a node")
    parser.add_argument(
        "--candidates", type=str, default="all", help="all that were a destination, seen: those met, or a file of names"
    )
    parser.add_argument("--out", type=str, default=None, help=f"a file for the rows: {', '.join(ROWS)}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _candidates(settings: Namespace, predictor: Predictor) -> Candidates:
    if settings.candidates == "all" or settings.candidates == "seen":
        return "all" if settings.candidates == "all" else "seen"
    return read_nodes(settings.candidates, settings.column, predictor.names)


def _nodes(settings: Namespace, predictor: Predictor, at: float | None) -> list[str]:
    if settings.node is not None:
        return [settings.node]
    if settings.nodes is not None:
        return read_nodes(settings.nodes, settings.column, predictor.names)
    events = predictor.history.graph.events
    before = events.source if at is None else events.source[events.time < at]
    return [predictor.names.known[node] for node in before.unique().tolist()]


def _frames(
    predictor: Predictor, nodes: list[str], at: float | None, top: int, candidates: Candidates
) -> Iterator[pl.DataFrame]:
    """Rows in batches; the last may be short, and there is always one, for the header."""
    kept: Rows = []
    for node in track(nodes, "nodes", console=messages, transient=True, disable=not messages.is_terminal):
        kept += _rows(predictor, node, at, top, candidates)
        if len(kept) >= AT_ONCE:
            yield _frame(kept, predictor.dated)
            kept = []
    yield _frame(kept, predictor.dated)


def _rows(predictor: Predictor, node: str, at: float | None, top: int, candidates: Candidates) -> Rows:
    return [
        {
            "node": node,
            "rank": rank,
            "candidate": found.name,
            "probability": found.probability,
            "score": found.score,
            "last_met": said(found.last_met, predictor.dated),
        }
        for rank, found in enumerate(predictor.rank(node, at, top, candidates), 1)
    ]


def _frame(rows: Rows, dated: bool) -> pl.DataFrame:
    kinds = {
        "node": pl.String,
        "rank": pl.Int64,
        "candidate": pl.String,
        "probability": pl.Float64,
        "score": pl.Float64,
    }
    return pl.DataFrame(rows, schema={**kinds, "last_met": pl.String if dated else pl.Float64}, orient="row")


def _show(predictor: Predictor, rows: Rows, settings: Namespace, at: float | None) -> None:
    if settings.json:
        print(json.dumps(rows, indent=2))
        return
    when = f"after {shown(predictor.last_time, predictor.dated)}" if at is None else f"at {shown(at, predictor.dated)}"
    table = Table("candidate", title=Text(f"{settings.node}, {when} ({settings.run})"), title_justify="left")
    for column in ("probability", "score", "last met"):
        table.add_column(column, justify="right")
    for row in rows:
        met = row["last_met"]
        met = "never" if met is None else met if predictor.dated else shown(met, False)
        table.add_row(Text(row["candidate"]), f"{row['probability']:.4f}", f"{row['score']:.4f}", met)
    console.print(table)
