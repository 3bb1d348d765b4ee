"""Bad input is refused with its place"""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chronolink.errors import ChronolinkError
from chronolink.read import read_events

HEADER = "source,destination,time\n"
Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(text: str | bytes) -> Path:
        path = tmp_path / "events.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to_file


def refused(events: Any, **columns: Any) -> str:
    with pytest.raises(ChronolinkError) as caught:
        read_events(events, **columns)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert "exceptions" not in sentence
    return sentence


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"source": [0, 1], "destination": [1, 0], "time": [1, 2], **columns})


@pytest.mark.parametrize("time", [2**53 + 1, -(2**53) - 1, 10**30, "9007199254740993.0", "-1.7000000000000000001e18"])
def test_a_time_that_would_be_rounded_is_refused(write: Write, time: int | str) -> None:
    sentence = refused(write(HEADER + f"0,1,5\n0,1,{time}\n"))
    assert sentence.startswith(f"events.csv, row 2: time {time} is beyond 2**53")
    if isinstance(time, int) and abs(time) < 2**63:
        assert "row 2" in refused(frame(time=[0, time]))


def test_node_features_that_fit_no_node_are_refused() -> None:
    assert "occurs in no event" in refused(frame(), node_features=pl.DataFrame({"node": ["u0"], "age": [1]}))


def test_a_node_with_two_rows_of_features_is_refused() -> None:
    ages = pl.DataFrame({"node": [0, 1, 1], "age": [1, 2, 3]})
    assert refused(frame(), node_features=ages) == "node features, row 2: node '1' has two rows; keep one of them"


def test_a_missing_column_is_named_with_the_likely_one(write: Write) -> None:
    table = write("source,destination,Time\n0,1,2\n1,0,3\n")
    assert refused(table) == "events.csv: no column 'time'; did you mean 'Time'?"
    assert "'source', 'destination', 'Time'" in refused(table, source="who")


def test_a_prefix_without_columns_is_refused() -> None:
    assert "no column begins with 'g_'" in refused(frame(f_1=[1, 2]), edge_features=["g_*"])


@pytest.mark.parametrize("text", ["", "\n", "  \n\n", "\nsource,destination,time\n0,1,2\n1,0,3\n"])
def test_an_empty_file_is_refused(write: Write, text: str) -> None:
    assert "the first line is empty" in refused(write(text))


def test_a_header_alone_is_refused(write: Write) -> None:
    assert "no rows" in refused(write(HEADER))
    assert "no rows" in refused(frame().clear())


def test_one_event_is_refused(write: Write) -> None:
    assert refused(write(HEADER + "0,1,2\n")) == "events.csv: one event only; give at least two"


@pytest.mark.parametrize("missing", ["", "  ", "NaN"])
def test_a_missing_time_is_reported_with_its_row(write: Write, missing: str) -> None:
    rows = "0,1,2\n" * 4020
    sentence = refused(write(f"{HEADER}{rows}0,1,{missing}\n{rows}"))
    assert sentence == "events.csv, row 4021: time is missing; fill it in or drop the row"


def test_a_missing_time_in_a_frame_is_reported_with_its_row() -> None:
    for times in ([1, None], [1.0, float("nan")], [datetime.date(2000, 1, 1), None]):
        assert refused(frame(time=times)).startswith("events, row 2: time is missing")


@pytest.mark.parametrize("text", ["soon", "2004-02-31", "15/04/2004", "12:30", "1,5", "2004-04-15 05:56+99:99"])
def test_an_unparsable_time_is_reported_with_its_row(write: Write, text: str) -> None:
    for first in ("5", "2004-04-15"):
        sentence = refused(write(f'{HEADER}0,1,{first}\n1,0,"{text}"\n'))
        assert sentence.startswith(f"events.csv, row 2: time {text!r} is neither a number nor an ISO date")


def test_numbers_among_dates_are_refused(write: Write) -> None:
    assert "row 2: time '5' is of another kind" in refused(write(HEADER + "0,1,2004-04-15\n1,0,5\n"))
    assert "row 2: time '2004-04-15' is of another kind" in refused(write(HEADER + "0,1,5\n1,0,2004-04-15\n"))


def test_a_time_of_no_kind_is_refused() -> None:
    assert "time is of type Boolean" in refused(frame(time=[True, False]))


@pytest.mark.parametrize("text", ["inf", "-inf", "1e999"])
def test_an_infinite_time_is_reported_with_its_row(write: Write, text: str) -> None:
    assert "events.csv, row 2: time is infinite" in refused(write(HEADER + f"0,1,2\n1,0,{text}\n"))


@pytest.mark.parametrize("column", ["source", "destination"])
def test_a_missing_end_is_reported_with_its_row(column: str) -> None:
    for ends in ([0, None], [0.0, float("nan")], ["a", " "]):
        assert refused(frame(**{column: ends})).startswith(f"events, row 2: {column} is missing")


def test_a_name_that_is_half_a_number_is_refused() -> None:
    assert "row 2: source 1.5 is no name" in refused(frame(source=[0.0, 1.5]))


@pytest.mark.parametrize(
    ("value", "fault"),
    [(None, "is missing"), (float("nan"), "NaN"), (float("inf"), "infinite"), (1e39, "beyond float32")],
)
def test_a_bad_feature_is_reported_with_row_and_column(value: float | None, fault: str) -> None:
    sentence = refused(frame(weight=[1.0, value]), edge_features=["weight"])
    assert sentence.startswith("events, row 2: column weight")
    assert fault in sentence


def test_a_feature_of_letters_is_reported_with_row_and_column() -> None:
    assert refused(frame(w=["1", "x"]), edge_features="w") == "events, row 2: column w 'x' is no number; write a number"


def test_a_label_between_two_numbers_is_refused() -> None:
    assert "row 2: label state 0.5" in refused(frame(state=[1.0, 0.5]), label="state")


@pytest.mark.parametrize("row", ["1,2", "1,2,3,4"])
def test_ragged_rows_are_reported_with_their_line(write: Write, row: str) -> None:
    sentence = refused(write(f'{HEADER}"an\nn",1,2\n\n{row}\n0,1,3\n'))
    cells = row.count(",") + 1
    assert sentence.startswith(f"events.csv, line 5: {cells} cells where the header has 3")


def test_empty_lines_are_passed_over_and_counted(write: Write) -> None:
    assert len(read_events(write(HEADER + "0,1,2\n\n1,0,3\n\n\n")).events) == 2
    assert "row 3: time is missing" in refused(write(HEADER + "0,1,2\n\n1,0,\n"))


def test_a_column_that_occurs_twice_is_refused(write: Write) -> None:
    assert "column 'time' occurs twice" in refused(write("source,destination,time,time\n0,1,2,3\n1,0,3,4\n"))


def test_an_open_quote_is_refused(write: Write) -> None:
    assert refused(write(HEADER + '"ann,1,2\nbob,1,3\n'))


@pytest.mark.parametrize("junk", [b"\x00\x01\x02" * 500, b"\xff\xfe\x9d" * 500, "é,ü,ß\n".encode("latin-1") * 9])
def test_binary_junk_is_refused(write: Write, junk: bytes) -> None:
    assert "in UTF-8" in refused(write(junk))
    assert "in UTF-8" in refused(write(HEADER.encode() + b"0,1,2\n" * 5000 + b"\xff,\xfe,\x9d\n"))


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress((HEADER + "".join(f"{i},{i * 7919 % 997},{i}\n" for i in range(9999))).encode())
    for size in (15, len(whole) // 2):
        (tmp_path / "cut.csv.gz").write_bytes(whole[:size])
        assert refused(tmp_path / "cut.csv.gz").startswith("cut.csv.gz: ")


def test_a_file_that_is_not_there_is_refused_with_the_likely_one(tmp_path: Path, write: Write) -> None:
    path = write(HEADER)
    assert refused(tmp_path / "event.csv") == f"no file '{tmp_path / 'event.csv'}'; did you mean '{path}'?"
    assert "check the path" in refused("nowhere/at_all.csv")
    assert "is a folder" in refused(tmp_path)
    assert refused("~nobody-here/a.csv").startswith("no file '~nobody-here/a.csv', as there is no such user")


@pytest.mark.parametrize("junk", [b"", b"junk", b"PAR1junk"])
def test_what_is_no_parquet_file_is_refused(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(junk)
    assert refused(tmp_path / "a.parquet").startswith("a.parquet: ")


def test_an_unsupported_suffix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    assert "a.xlsx: unsupported kind of file; give one of .csv" in refused(tmp_path / "a.xlsx")


@pytest.mark.parametrize("thing", [None, 5, [(0, 1, 2)]])
def test_what_is_no_table_is_refused(thing: object) -> None:
    assert "give a path, a pandas or polars frame or an Arrow table" in refused(thing)


def test_one_column_for_both_ends_is_refused() -> None:
    assert "'source' is given as source and as destination; name two columns" in refused(frame(), destination="source")


def test_a_compressed_file_that_is_cut_short_is_said_to_be_so(tmp_path: Path) -> None:
    rows = "".join(f"{n % 97},{n * 7919 % 89},{n}\n" for n in range(50_000))
    whole = gzip.compress(f"{HEADER}{rows}".encode())
    (tmp_path / "log.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "damaged or cut short" in refused(tmp_path / "log.csv.gz")
