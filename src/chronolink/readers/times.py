"""Times of any kind as exact numbers"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import polars as pl

from ..errors import ChronolinkError
from ..events import EXACT
from .tables import Table

DAY = 86_400
UNITS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
WHOLE = r"^[+-]?\d+$"
ISO = (
    r"^(?<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?<clock>\d{2}:\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d+))?)?)?"
    r" ?(?:[Zz]|UTC|(?<sign>[+-])(?<hours>[01]\d|2[0-3]):?(?<minutes>[0-5]\d)?)?$"
)


def read_times(table: Table, name: str) -> pl.Series:
    """float64: numbers as they are; dates as seconds since 1970, in UTC unless they name a zone."""
    column = table.column(name)
    table.forbid(_missing(column), lambda _: f"{name} is missing; fill it in or drop the row")
    numbers = _reader(table, name, column)(column)
    table.forbid(numbers.is_null(), lambda line: f"{name} {str(column[line])!r} is {_neither(column, line)}")
    table.forbid(numbers.is_infinite(), lambda _: f"{name} is infinite; give the time of the event or drop the row")
    return numbers


def is_dated(table: Table, name: str) -> bool:
    """Whether a column of times holds dates; its first row tells."""
    column = table.column(name)
    if column.dtype == pl.String:
        return bool(_dates(column[:1]).is_not_null().all())
    return column.dtype.is_temporal()


def moment(asked: str | float) -> float:
    """One asked time: a number as it is, an ISO date as seconds since 1970."""
    text = str(asked).strip().encode(errors="replace").decode()  # an argument may hold bytes that are no text
    date = _dates(pl.Series([text]))[0]
    number = pl.Series([text]).cast(pl.Float64, strict=False)[0] if date is None else date
    if number is None or not math.isfinite(number):
        raise ChronolinkError(f"'{text}' is no time; write it like 1082008561 or 2004-04-15 05:56:01")
    return float(number)


def shown(time: float, dated: bool) -> str:
    """A time as people write it; one beyond the calendar is a number."""
    if dated:
        with suppress(OverflowError):
            date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time)
            return date.isoformat(sep=" ").removesuffix("+00:00")
    return f"{time:.0f}" if 1e15 <= abs(time) <= EXACT else f"{time:.15g}"


def _missing(column: pl.Series) -> pl.Series:
    empty = column.is_null()
    if column.dtype == pl.String:
        return empty | (column.str.to_lowercase() == "nan").fill_null(False)
    return empty | column.is_nan() if column.dtype.is_float() else empty


def _reader(table: Table, name: str, column: pl.Series) -> Callable[[pl.Series], pl.Series]:
    kind = column.dtype
    if kind == pl.String:
        if _dates(column[:1]).is_not_null().all():
            return _dates
        _refuse_inexact(table, name, column, _written_exactly(column))
        return lambda text: text.cast(pl.Float64, strict=False)
    if kind.is_temporal() and kind != pl.Time:
        return _seconds
    if kind.is_integer():
        _refuse_inexact(table, name, column, _exact(column))
    elif not kind.is_numeric():
        raise table.error(0, f"{name} is of type {kind}; give numbers, dates or ISO text")
    return lambda numbers: numbers.cast(pl.Float64)


def _written_exactly(text: pl.Series) -> pl.Series:
    """False for numbers beyond the exact ones, in any spelling, also for whole ones beyond 64 bits."""
    number = text.cast(pl.Float64, strict=False)
    beyond = (number.abs() >= EXACT) & number.is_finite()
    return _exact(text) | ~(text.str.contains(WHOLE) | beyond.fill_null(False))


def _exact(column: pl.Series) -> pl.Series:
    """True for whole numbers that float64 holds; narrow integers cannot even be compared with the bounds."""
    number = column.cast(pl.Int64, strict=False)
    return ((number >= -EXACT) & (number <= EXACT)).fill_null(False)


def _refuse_inexact(table: Table, name: str, column: pl.Series, exact: pl.Series) -> None:
    table.forbid(
        ~exact,
        lambda line: (
            f"{name} {column[line]} is beyond 2**53 and would be rounded; "
            "give seconds or milliseconds, or count from a later start"
        ),
    )


def _neither(column: pl.Series, line: int) -> str:
    alone = column[line : line + 1]
    if _dates(alone).is_not_null().all() or alone.cast(pl.Float64, strict=False).is_not_null().all():
        return "of another kind than the first row's; give numbers only or dates only"
    return "neither a number nor an ISO date; write it like 1082008561 or 2004-04-15 05:56:01"


def _seconds(column: pl.Series) -> pl.Series:
    """Typed dates; whole seconds and their fraction apart, so that no digit is lost before the sum."""
    if isinstance(column.dtype, pl.Date):
        return column.to_physical().cast(pl.Float64) * DAY
    assert isinstance(column.dtype, pl.Datetime | pl.Duration)
    ticks, unit = column.to_physical(), UNITS[column.dtype.time_unit]
    return (ticks // unit).cast(pl.Float64) + (ticks % unit).cast(pl.Float64) / unit


def _dates(text: pl.Series) -> pl.Series:
    """ISO text; what is not a date becomes null."""
    part = text.str.extract_groups(ISO).struct.unnest()
    written = pl.concat_str("day", pl.lit(" "), _or("clock", "00:00"), pl.lit(":"), _or("second", "00"))
    ticks = written.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="ms").dt.epoch("s")
    fraction = pl.concat_str(pl.lit("0."), _or("fraction", "0")).cast(pl.Float64)
    shift = _or("hours", "0").cast(pl.Int64) * 3600 + _or("minutes", "0").cast(pl.Int64) * 60
    east = pl.when(pl.col("sign") == "-").then(-shift).otherwise(shift)
    return part.select(((ticks - east).cast(pl.Float64) + fraction).alias("time")).to_series()


def _or(group: str, default: str) -> pl.Expr:
    found = pl.col(group)
    return pl.when(found.is_null() | (found == "")).then(pl.lit(default)).otherwise(found)
