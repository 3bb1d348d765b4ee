"""Score the pairs of a file, by name

chronolink predict RUN --pairs pairs.csv [--at 2024-05-01] [--out scored.csv]

The file has columns of sources, destinations and, if wanted, times, called as in the run's log or as --source,
--destination and --time say. All its columns are kept; score and probability are added. Without --out CSV is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from jsonargparse import ArgumentParser, Namespace
from rich.progress import track

from ..errors import ChronolinkError
from ..predictor import Predictor
from ..readers.tables import Table, read_table
from ..readers.times import is_dated, read_times
from ._answers import ROWS, add_run_options, add_time_option, asked, known_names, opened, rows_to, writable
from ._arguments import command_parser, parse, tidy
from ._console import messages

AT_ONCE = 8192  # pairs that are scored before they are written
ADDED = ("score", "probability")


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "run"))
    if settings.pairs is None:
        raise ChronolinkError("no pairs given; name their file with --pairs")
    out, at = writable(settings.out, ROWS), asked(settings)
    with opened(settings) as predictor:
        table = _read(settings.pairs)
        questions = _questions(table, settings, predictor)
        with rows_to(out) as write:
            for frame in _frames(predictor, table, questions, at):
                write(frame)
    if out is not None:
        messages.print(f"pairs scored: {len(table):,} ({out})", highlight=False, markup=False, soft_wrap=True)


def _parser() -> ArgumentParser:
    parser = command_parser("predict", __doc__)
    add_run_options(parser)
    parser.add_argument("--pairs", type=str, default=None, help="the file of pairs (.csv, .tsv, .parquet)")
    for end in ("source", "destination"):
        parser.add_argument(f"--{end}", type=str, default=None, help=f"its column of {end}s (default: as in the log)")
    parser.add_argument("--time", type=str, default=None, help="its column of times (default: as in the log, if there)")
    add_time_option(parser)
    parser.add_argument("--out", type=str, default=None, help=f"a file for the rows: {', '.join(ROWS)}")
    return parser


def _read(pairs: str) -> Table:
    table = read_table(pairs)
    for column in ADDED:
        if column in table.columns.columns:
            raise ChronolinkError(
                f"{table.place}: has a column '{column}' already; rename it, as the answer's is added"
            )
    return table


def _questions(table: Table, settings: Namespace, predictor: Predictor) -> pl.DataFrame:
    """Columns source, destination and, where the file has times, time; every one checked before the first answer."""
    columns = {}
    for end in ("source", "destination"):
        name = settings[end] or predictor.settings.get(end, end)
        columns[end] = known_names(table, name, predictor.names)
    time = settings.time or predictor.settings.get("time", "time")
    if settings.time or time in table.columns.columns:
        columns["time"] = _times(table, time, settings.at, predictor.dated)
    return pl.DataFrame(columns)


def _times(table: Table, column: str, at: str | None, dated: bool) -> pl.Series:
    if at is not None:
        raise ChronolinkError(f"{table.place}: has times in column '{column}'; leave out --at, or the column")
    times = read_times(table, column)
    if is_dated(table, column) != dated:
        wanted, given = ("dates", "numbers") if dated else ("numbers", "dates")
        raise ChronolinkError(f"{table.place}: {column} holds {given}, the run's events have {wanted}; give {wanted}")
    return times


def _frames(predictor: Predictor, table: Table, questions: pl.DataFrame, at: float | None) -> Iterator[pl.DataFrame]:
    """The rows with their answers, in batches."""
    for start in track(
        range(0, len(table), AT_ONCE), "pairs", console=messages, transient=True, disable=not messages.is_terminal
    ):
        asked_now = questions[start : start + AT_ONCE]
        times = asked_now["time"].to_list() if "time" in asked_now.columns else at
        found = predictor.score(asked_now["source"].to_list(), asked_now["destination"].to_list(), times)
        answers = [pl.Series(name, getattr(found, name)) for name in ADDED]
        yield table.columns[start : start + AT_ONCE].with_columns(answers)
