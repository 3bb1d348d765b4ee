"""Rows of comma or tab separated text"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import TextIO

import polars as pl

from ..errors import ChronolinkError

SEPARATORS = (",", "\t", ";", "|")


def read_text(path: Path) -> pl.DataFrame:
    """Every cell as text, so that '007' stays a name and no type is guessed from the first rows."""
    header = _header(path)
    separator = max(SEPARATORS, key=header.count)
    _refuse_doubles(path, next(csv.reader([header], delimiter=separator)))
    try:
        frame = pl.read_csv(path, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        _refuse_ragged(path, separator)
        reason = "not UTF-8 text" if "utf-8" in str(error) else "not a table of quoted or plain cells"
        raise ChronolinkError(f"{path.name}: {reason}; save it as CSV in UTF-8") from error
    except OSError as error:
        if "unexpected end of file" in str(error):
            raise _damaged(path) from error
        raise
    # polars fills a short row with nothing, so the last column tells where to look closer
    if frame.width > 1 and frame.to_series(-1).null_count():
        _refuse_ragged(path, separator)
    return frame


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return io.TextIOWrapper(gzip.GzipFile(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _header(path: Path) -> str:
    """The first line; binary files are found out here."""
    try:
        with _open(path) as file:
            header = file.readline(1_000_000)
    except UnicodeDecodeError as error:
        raise ChronolinkError(f"{path.name}: not UTF-8 text; save it as CSV in UTF-8") from error
    except (EOFError, gzip.BadGzipFile) as error:
        raise _damaged(path) from error
    if "\0" in header:
        raise ChronolinkError(f"{path.name}: binary, not text; save it as CSV in UTF-8")
    if not header.strip():
        raise ChronolinkError(f"{path.name}: the first line is empty; give a header line and the rows below it")
    return header


def _damaged(path: Path) -> ChronolinkError:
    return ChronolinkError(f"{path.name}: the compressed file is damaged or cut short; get it again")


def _refuse_doubles(path: Path, columns: list[str]) -> None:
    doubles = [column for column in columns if columns.count(column) > 1]
    if doubles:
        raise ChronolinkError(f"{path.name}: column '{doubles[0]}' occurs twice; rename one of them")


def _refuse_ragged(path: Path, separator: str) -> None:
    """Name the first line that has more or fewer cells than the header; slow, so only asked on suspicion."""
    try:
        with _open(path) as file:
            rows = csv.reader(file, delimiter=separator)
            width = len(next(rows))
            for cells in rows:
                if cells and len(cells) != width:
                    raise ChronolinkError(
                        f"{path.name}, line {rows.line_num}: {len(cells)} cells where the header has {width}; "
                        "mend or drop the line"
                    )
    except UnicodeDecodeError as error:
        raise ChronolinkError(f"{path.name}: not UTF-8 text; save it as CSV in UTF-8") from error
    except (csv.Error, EOFError):
        return  # the caller says that the text is broken
