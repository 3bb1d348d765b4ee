"""A file or a frame as one table"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from ..errors import ChronolinkError
from .text_files import read_text

TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns, and for every line of them the row in which the user finds it."""

    place: str  # the file's name, or what the frame is
    columns: pl.DataFrame
    row: pl.Series  # [lines] 1-based, the header not counted

    def __len__(self) -> int:
        return self.columns.height

    def column(self, name: str) -> pl.Series:
        """The column of that name; text comes without blanks at its ends, and empty text is missing."""
        if name not in self.columns.columns:
            raise ChronolinkError(f"{self.place}: no column '{name}'; {_advice(name, self.columns.columns)}")
        found = self.columns[name]
        if found.dtype in (pl.Categorical, pl.Enum):
            found = found.cast(pl.String)
        if found.dtype != pl.String:
            return found
        stripped = found.str.strip_chars()
        return stripped.set(stripped == "", None)

    def error(self, line: int, fault: str) -> ChronolinkError:
        return ChronolinkError(f"{self.place}, row {self.row[line]}: {fault}")

    def forbid(self, faulty: pl.Series, fault: Callable[[int], str]) -> None:
        """Raise for the first line where the mask holds, in the words that `fault` finds for it."""
        line = faulty.arg_max() if faulty.any() else None
        if line is not None:
            raise self.error(line, fault(line))


def read_table(events: object, frame_name: str = "events") -> Table:
    """The table of a path, a pandas or polars frame, an Arrow table, or of columns by name."""
    if isinstance(events, str | Path):
        path = expanded(events)
        return _table(path.name, _guarded(path.name, lambda: _read_file(path)))
    return _table(frame_name, _guarded(frame_name, lambda: _from_frame(events)))


def expanded(path: str | Path) -> Path:
    """A path with the home folder that `~` stands for."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ChronolinkError(f"no file '{path}', as there is no such user; write the path out") from error


def _advice(name: str, columns: Iterable[str]) -> str:
    known = list(columns)
    close = get_close_matches(name.lower(), [column.lower() for column in known], n=1)
    if close:
        return f"did you mean '{next(column for column in known if column.lower() == close[0])}'?"
    shown = ", ".join(repr(column[:30]) for column in known[:12]) + (", ..." if len(known) > 12 else "")
    return f"name one of its columns: {shown}"


def _table(place: str, frame: pl.DataFrame) -> Table:
    row = pl.Series("row", range(1, frame.height + 1), dtype=pl.Int64)
    if frame.width > 1 and frame.height:
        # an empty line of a CSV file arrives as a row without values
        written = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        if not written.all():
            frame, row = frame.filter(written), row.filter(written)
    if not frame.height:
        raise ChronolinkError(f"{place}: no rows; give a table with a row below its header")
    return Table(place, frame, row)


def _guarded(place: str, read: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """No traceback of a reading library leaves this function."""
    try:
        return read()
    except ChronolinkError:
        raise
    except ImportError as error:
        raise ChronolinkError(f"{place}: {error.name or error} is missing; pip install 'chronolink[frames]'") from error
    # pyarrow and polars each have a family of errors of their own, and polars can panic
    except (Exception, pl.exceptions.PanicException) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise ChronolinkError(f"{place}: cannot be read ({reason}); check what it holds") from error


def _read_file(path: Path) -> pl.DataFrame:
    if path.is_dir():
        raise ChronolinkError(f"{path.name}: is a folder; name the file in it that holds the events")
    if not path.exists():
        raise ChronolinkError(f"no file '{path}'; {_neighbour(path)}")
    name = path.name.lower()
    if name.endswith(PARQUET):
        return _read_parquet(path)
    if name.endswith(TEXT):
        return read_text(path)
    raise ChronolinkError(f"{path.name}: unsupported kind of file; give one of {', '.join(TEXT + PARQUET)}")


def _neighbour(path: Path) -> str:
    names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, names, n=1)
    return f"did you mean '{path.with_name(close[0])}'?" if close else "check the path"


def _read_parquet(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise ChronolinkError(f"{path.name}: not a Parquet file; write it again, or name it after what it holds")
    return pl.read_parquet(path)


def _from_frame(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame), strict=False)
    if type(frame).__module__.partition(".")[0] == "pandas":
        return pl.from_pandas(frame)
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise ChronolinkError(
        f"events are of type {type(frame).__name__}; give a path, a pandas or polars frame or an Arrow table"
    )
