"""Names, times and cells out of JSON"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from pydantic_core import PydanticCustomError

from ..errors import ChronolinkError
from ..events import EXACT
from ..readers.tables import Table
from ..readers.times import moment, read_times

MOST_COLUMNS = 512
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Cell = str | int | float | None
Rows = Sequence[Mapping[str, Cell]]


def as_name(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise refusal(f"{_brief(value)} is no name of a node; give text or a whole number")
    return _whole_text(str(value))


def as_time(value: Any) -> float | str | None:
    """A number as a number; other text is left for `moments` to read with its neighbours, which is faster."""
    if isinstance(value, str):
        return _number(value) if NUMBER.fullmatch(value.strip()) else _whole_text(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal(f"{_brief(value)} is no time; give a number or an ISO date")
    return _number(value)


def as_moment(value: Any) -> float | None:
    """One asked time; nothing where nothing is said."""
    time = None if value == "" else as_time(value)
    try:
        return moment(time) if isinstance(time, str) else time
    except ChronolinkError as error:
        raise refusal(str(error)) from None


def moments(place: str, times: Sequence[float | str | None]) -> list[float | None]:
    """The times of rows, those that are text read as dates."""
    lines = [line for line, time in enumerate(times) if isinstance(time, str)]
    found: dict[int, float] = {}
    if lines:
        rows = pl.Series("row", [line + 1 for line in lines])
        table = Table(place, pl.DataFrame({"at": [times[line] for line in lines]}), rows)
        try:
            found = dict(zip(lines, read_times(table, "at").to_list(), strict=True))
        except ChronolinkError as error:
            raise refusal(str(error)) from None
    return [found.get(line, None if isinstance(time, str) else time) for line, time in enumerate(times)]


def as_cell(value: Any) -> Cell:
    """One value of an event."""
    if isinstance(value, str):
        return _whole_text(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise refusal(f"{_brief(value)} is neither text nor a finite number; mend it or leave the event out")


def columns(rows: Rows, needed: Sequence[str]) -> dict[str, list[Cell]]:
    """Rows turned into columns, each of one kind of values; what is needed must be in every row."""
    for line, row in enumerate(rows):
        missing = [name for name in needed if row.get(name) is None]
        if missing:
            raise ChronolinkError(f"events, row {line + 1}: {missing[0]} is missing; fill it in or leave the event out")
    names = dict.fromkeys(name for row in rows for name in row)
    if len(names) > MOST_COLUMNS:
        raise ChronolinkError(f"the events have {len(names)} columns; send those of the run's log alone")
    return {name: _of_one_kind([row.get(name) for row in rows]) for name in names}


def _of_one_kind(cells: list[Cell]) -> list[Cell]:
    """JSON may write 1 for 1.0, and a name as a number: text among numbers makes all text, a float makes all floats."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if str in kinds and len(kinds) > 1:
        return [cell if cell is None or isinstance(cell, str) else _written(cell) for cell in cells]
    if kinds == {int, float}:
        return [float(cell) if isinstance(cell, int) and abs(cell) <= EXACT else cell for cell in cells]
    return cells


def _written(number: int | float) -> str:
    """7 for 7.0, which is how a name looks that went through floats."""
    return str(int(number) if number == int(number) else number)


def refusal(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})


def _number(value: str | int | float) -> float:
    """As float64; beyond the exact whole numbers there are no events, and no model has learnt such a distance."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= EXACT:
        raise refusal(f"{_brief(value)} is no time; give a number within 2**53 or an ISO date")
    return number


def _whole_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refusal(f"{_brief(text)} holds half a character; give whole Unicode text") from None
    return text


def _brief(value: Any) -> str:
    try:
        written = json.dumps(value)
    except RecursionError:  # lists within lists
        return "the value"
    return written if len(written) <= 60 else f"{written[:57]}..."
