"""Odd cells, files, frames and words to try"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import math
import os
from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import strategies as st

CELLS = st.one_of(
    st.sampled_from(
        ["", " ", "a", "b", "7", "007", "-3", "1.5", "1e999", "nan", "NaN", "inf", "null", "true", '"', "a,b"]
    ),
    st.sampled_from(["2024-01-01", "2024-02-30", "2024-01-01T25:00", "0000-00-00", "9999-12-31 23:59:59.999+14:00"]),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.text(max_size=6),
)
NAMES = st.sampled_from(["alice", "bob", "café", "7"])
TIMES = st.integers(0, 10**9).map(str)
USUAL = [
    ["source", "destination", "time"],
    ["source", "destination", "time", "weight"],
    ["weight", "time", "destination", "source"],
]


@st.composite
def tables(draw: st.DrawFn, headers: list[list[str]], names: st.SearchStrategy[str] = NAMES) -> bytes:
    """A CSV file with no fault, with a few or with nothing but faults."""
    faults = draw(st.sampled_from([0, 0, 1, 1, 5]))  # cells, of ten
    header = draw(st.sampled_from(headers))
    kinds = [TIMES if name in ("time", "weight") else names for name in header]
    rows = [
        [draw(CELLS if draw(st.integers(1, 10)) <= faults else kind) for kind in kinds]
        for _ in range(draw(st.integers(0, 8)))
    ]
    if faults == 5:
        header = draw(st.lists(st.one_of(st.sampled_from([*header, "node"]), st.text(max_size=4)), max_size=5))
        rows = [row[: draw(st.integers(0, 6))] for row in rows]
    content = written(
        [header, *rows], draw(st.sampled_from([",", ",", "\t", ";", "|"])), faults < 5 or draw(st.booleans())
    )
    encodings = ["utf-8"] * 9 + ["utf-8-sig"] * 2 + ["utf-16", "latin-1"] * bool(faults)
    encoded = content.encode(draw(st.sampled_from(encodings)), "replace")
    return gzip.compress(encoded) if draw(st.integers(0, 9)) == 9 else encoded


def written(rows: list[list[str]], separator: str, quoted: bool) -> str:
    if not quoted:
        return "\n".join(separator.join(row) for row in rows)
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    return text.getvalue()


CONTENT = st.one_of(
    tables(USUAL),
    tables(USUAL),
    st.binary(max_size=80),
    st.binary(max_size=40).map(lambda junk: b"PAR1" + junk + b"PAR1"),
)
SUFFIXES = st.sampled_from([".csv", ".csv", ".csv", ".tsv", ".csv.gz", ".parquet", ".txt", ""])


NOON = datetime.datetime(2024, 5, 1, 12)
ODD: list[tuple[Any, list[Any]]] = [
    *((kind, [0, 1, None, 127]) for kind in (pl.Int8, pl.UInt8, pl.Int32, pl.UInt64, pl.Int128, pl.Float32)),
    (pl.Int64, [2**53, 2**53 + 1, -(2**63), 2**63 - 1]),
    (pl.UInt64, [2**64 - 1, 0, 1, None]),
    (pl.Float64, [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324, None]),
    (pl.Decimal(38, 2), [Decimal("1.50"), Decimal("-2"), None]),
    (pl.Boolean, [True, False, None]),
    (pl.String, ["", " ", "a", "b", "5", "nan", "2024-05-01", "a\nb", None, "é"]),
    (pl.Categorical, ["a", "b", "2024-05-01", None]),
    (pl.Enum(["a", "5"]), ["a", "5", None]),
    (pl.Binary, [b"", b"\xff", None]),
    (pl.Date, [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
    *((pl.Datetime(unit), [NOON, datetime.datetime(1970, 1, 1), None]) for unit in ("ms", "us", "ns")),
    (pl.Datetime("us", "Europe/Paris"), [NOON.replace(tzinfo=datetime.UTC), None]),
    (pl.Duration("ms"), [datetime.timedelta(days=-1), datetime.timedelta(0), None]),
    (pl.Time, [datetime.time(1), None]),
    (pl.List(pl.Int64), [[], [1, None], None]),
    (pl.Array(pl.Int64, 2), [[1, 2], None]),
    (pl.Struct({"a": pl.Int64}), [{"a": 1}, {"a": None}, None]),
    (pl.Null, [None]),
    (pl.Object, [object(), "a", 1]),
]


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """Columns of any type that polars knows, nested ones too, under the usual names."""
    length = draw(st.integers(0, 5))
    plain: dict[str, list[Any]] = {"source": ["a", "b"], "destination": [1, 2, 30], "time": [1.0, 2.5, 2e9]}
    columns = []
    for name in ("source", "destination", "time", "weight"):
        odd = name not in plain or draw(st.integers(0, 2)) == 0
        kind, values = draw(st.sampled_from(ODD)) if odd else (None, plain[name])
        columns.append(pl.Series(name, [draw(st.sampled_from(values)) for _ in range(length)], dtype=kind))
    return pl.DataFrame(columns)


WORDS = st.one_of(
    st.sampled_from(
        ["run", "run", "pairs.csv", "new.csv", "names.txt", "a.yaml", "junk", "empty", "no/such", "junk/below"]
    ),
    st.sampled_from(
        ["out.csv", "out.jsonl", "out.parquet", "out.png", "new/out.csv", "empty/.csv", ".csv", "empty.csv/"]
    ),
    st.sampled_from(
        ["", "-", "--", "-h", "---", "-5", "0", "1", "3", "99999999999999999999", "1e3", "-1e9", "nan", "inf"]
    ),
    st.sampled_from(
        ["null", "true", "{", "[", "{a: 1}", "[1, 2", "!!python/name:os", "&a *a", "a: b: c", "@x", "~", "~x/y", "a=b"]
    ),
    st.sampled_from(
        ["p1", "q1", "p99", "source", "2024-01-01", "100", "all", "seen", "tgat", "linear", "edgebank", "uslegis"]
    ),
    st.text(st.characters(exclude_characters="\0"), max_size=8),
    st.binary(max_size=4).map(lambda word: os.fsdecode(word.replace(b"\0", b""))),
)
