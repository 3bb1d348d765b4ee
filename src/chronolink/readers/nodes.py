"""Names of nodes as numbers from zero"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from .tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The distinct names in order: integers by value, text by spelling; a node is its place in them."""

    name: pl.Series

    @classmethod
    def of(cls, table: Table, columns: tuple[str, str]) -> Nodes:
        """Both ends share one space of names."""
        ends = [read_names(table, column) for column in columns]
        names = pl.concat([end.rename("name").unique() for end in ends]).unique()
        number = names.cast(pl.Int64, strict=False)
        # '007' and '7' are two names, so only the plain spelling counts as an integer
        plain = bool((number.cast(pl.String) == names).fill_null(False).all())
        return cls((number.sort() if plain else names.sort()).cast(pl.String))

    def __len__(self) -> int:
        return len(self.name)

    def find(self, names: pl.Series) -> pl.Series:
        """The numbers of these names; null where there is no such node."""
        return names.replace_strict(self.name, pl.int_range(len(self), eager=True), default=None, return_dtype=pl.Int64)

    def kept(self) -> tuple[str, ...] | None:
        """The names, unless they are the numbers themselves."""
        numbers = pl.int_range(len(self), eager=True).cast(pl.String)
        return None if bool((numbers == self.name).all()) else tuple(self.name.to_list())


def read_names(table: Table, column: str) -> pl.Series:
    """A column of names as text; whole floats, which is what pandas makes of integers with gaps, are integers."""
    found = table.column(column)
    table.forbid(_missing(found), lambda _: f"{column} is missing; fill it in or drop the row")
    if found.dtype.is_float():
        table.forbid(
            (found % 1 != 0) | (found.abs() >= 2**53),
            lambda line: f"{column} {found[line]} is no name of a node; give whole numbers or text",
        )
        found = found.cast(pl.Int64)
    elif not (found.dtype.is_integer() or found.dtype == pl.String):
        raise table.error(0, f"{column} is of type {found.dtype}; give whole numbers or text")
    return found.cast(pl.String)


def _missing(column: pl.Series) -> pl.Series:
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
