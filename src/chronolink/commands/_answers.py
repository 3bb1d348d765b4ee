"""Runs opened, names asked, rows written"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import polars as pl
from jsonargparse import ArgumentParser, Namespace

from ..errors import ChronolinkError
from ..names import Names
from ..predictor import Predictor, open_run
from ..readers.nodes import read_names
from ..readers.tables import PARQUET, TEXT, Table, expanded, read_table
from ..readers.times import moment, shown

ROWS = (".csv", ".parquet", ".jsonl")
Write = Callable[[pl.DataFrame], None]


def add_run_options(parser: ArgumentParser) -> None:
    parser.add_argument("--run", type=str, default=None, help="the run's folder; may stand alone, without --run")


def add_time_option(parser: ArgumentParser) -> None:
    parser.add_argument("--at", type=str, default=None, help="number or ISO date (default: just after the last event)")


def opened(settings: Namespace) -> Predictor:
    if settings.run is None:
        raise ChronolinkError("no run given; name the folder that train wrote")
    return open_run(settings.run)


def asked(settings: Namespace) -> float | None:
    return None if settings.at is None else moment(settings.at)


def said(time: float | None, dated: bool) -> str | float | None:
    """A time for programs: as the run's log has it, a date as ISO text and a number as it is."""
    return None if time is None else shown(time, True) if dated else time


def writable(out: str | None, suffixes: tuple[str, ...]) -> Path | None:
    """Where an answer goes, refused before any work if it can be no such file."""
    if out is None:
        return None
    path = expanded(out)
    if path.suffix.lower() not in suffixes:
        raise ChronolinkError(f"--out {out} is no {' or '.join(suffixes)} file; change its suffix")
    if path.is_dir():
        raise ChronolinkError(f"--out {out} is a folder; name a file")
    return path


def read_nodes(file: str, column: str | None, names: Names) -> list[str]:
    """The nodes that a file names, each once: a name a line, or a column of a table."""
    path = expanded(file)
    if path.is_file() and not path.name.lower().endswith(TEXT + PARQUET):
        table, column = _lines(path), "name"
    else:
        table = read_table(path)
        column = _column(table, column, names)
    return list(dict.fromkeys(known_names(table, column, names).to_list()))


def known_names(table: Table, column: str, names: Names) -> pl.Series:
    """A column of names, each of which is a node's."""
    found = read_names(table, column)
    strange = [name for name in found.unique().to_list() if name not in names]
    table.forbid(found.is_in(strange), lambda line: str(names.unknown(found[line])))
    return found


def _lines(path: Path) -> Table:
    """A name a line; empty lines are passed over and counted."""
    try:
        lines = pl.Series("name", path.read_text(encoding="utf-8-sig").split("\n"), dtype=pl.String)
    except UnicodeDecodeError as error:
        raise ChronolinkError(f"{path.name}: not UTF-8 text; write one name a line in UTF-8") from error
    written = lines.str.strip_chars() != ""
    if not written.any():
        raise ChronolinkError(f"{path.name}: no names; write one a line")
    row = pl.Series("row", range(1, len(lines) + 1), dtype=pl.Int64)
    return Table(path.name, lines.filter(written).to_frame(), row.filter(written))


def _column(table: Table, column: str | None, names: Names) -> str:
    """Which column of a table holds the names: the one that is asked for, the only one, or `node`."""
    columns = table.columns.columns
    if len(columns) > 1 and column is None and "node" not in columns:
        raise ChronolinkError(f"{table.place}: no column 'node'; say with --column which one holds the names")
    if len(columns) > 1:
        return column or "node"
    if columns[0] in names:
        raise ChronolinkError(
            f"{table.place}: the header '{columns[0]}' is a node's name; write 'node' above it, or call the file .txt"
        )
    return columns[0]


@contextmanager
def rows_to(out: Path | None) -> Iterator[Write]:
    """Takes frames one by one; the file is there, whole, when all are in. Without a file: CSV on stdout."""
    if out is None:
        sys.stdout.flush()
        yield _text(sys.stdout.buffer, ".csv")
        sys.stdout.buffer.flush()
        return
    with _whole(out) as part:
        if out.suffix.lower() == ".parquet":
            with _pieces(part) as write:
                yield write
        else:
            with part.open("wb") as file:
                yield _text(file, out.suffix.lower())


def _text(file: BinaryIO, suffix: str) -> Write:
    """CSV under one header, or a JSON object a line."""
    begun = False

    def write(frame: pl.DataFrame) -> None:
        nonlocal begun
        try:
            text = frame.write_ndjson() if suffix == ".jsonl" else frame.write_csv(include_header=not begun)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).partition("\n")[0]
            raise ChronolinkError(f"the rows do not fit text ({reason}); write a .parquet file with --out") from error
        file.write(text.encode())
        begun = True

    return write


@contextmanager
def _pieces(path: Path) -> Iterator[Write]:
    """Parquet has no way to be appended to, so every frame is a file of its own until the last is in."""
    with TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        pieces: list[Path] = []

        def write(frame: pl.DataFrame) -> None:
            pieces.append(Path(folder) / f"{len(pieces)}.parquet")
            frame.write_parquet(pieces[-1])

        yield write
        pl.scan_parquet(pieces).sink_parquet(path)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file to be filled, which takes the place of the old one if all goes well and is gone if not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
