"""Events are read exactly"""

from __future__ import annotations

import datetime
import gzip
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

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


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"source": [0, 1], "destination": [1, 0], "time": [1, 2], **columns})


def test_a_csv_file_becomes_a_graph(write: Write) -> None:
    graph = read_events(write(HEADER + "0,1,10\n1,2,20\n"))
    assert graph.events.source.tolist() == [0, 1]
    assert graph.events.destination.tolist() == [1, 2]
    assert graph.events.time.tolist() == [10.0, 20.0]
    assert (graph.num_nodes, graph.names, graph.name) == (3, None, "events")
    assert graph.node_features.shape == (3, 0)
    assert graph.edge_features.shape == (2, 0)


def test_every_kind_of_table_gives_the_same_graph(tmp_path: Path) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    columns = {"source": ["ann", "bob"], "destination": ["bob", "cat"], "time": [1.5, 2.5], "weight": [1, 2]}
    whole = pl.DataFrame(columns)
    whole.write_csv(tmp_path / "a.csv")
    whole.write_csv(tmp_path / "a.tsv", separator="\t")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    whole.write_parquet(tmp_path / "a.parquet")
    paths = [tmp_path / name for name in ("a.csv", "a.tsv", "a.csv.gz", "a.parquet")]
    tables = [*paths, str(paths[0]), whole, whole.lazy(), pandas.DataFrame(columns), pyarrow.table(columns)]
    graphs = [read_events(table, edge_features="weight") for table in tables]
    assert {graph.digest() for graph in graphs} == {graphs[0].digest()}
    assert {graph.names for graph in graphs} == {("ann", "bob", "cat")}


def test_semicolons_and_a_byte_order_mark_are_understood(write: Write) -> None:
    graph = read_events(write("\ufeffsource;destination;time\r\n0;1;3\r\n1;0;4\r\n"))
    assert graph.events.time.tolist() == [3.0, 4.0]


def test_integer_names_are_numbered_by_value_and_kept(write: Write) -> None:
    graph = read_events(write(HEADER + "100,9,1\n-3,100,2\n"))
    assert graph.names == ("-3", "9", "100")
    assert graph.events.source.tolist() == [2, 0]


def test_leading_zeros_make_another_name(write: Write) -> None:
    assert read_events(write(HEADER + "007,7,1\n7,007,2\n")).names == ("007", "7")


def test_the_order_of_the_rows_does_not_change_the_numbers_of_the_nodes(write: Write) -> None:
    forward = read_events(write(HEADER + "zoe,ann,1\nbob,zoe,2\n"))
    backward = read_events(write(HEADER + "bob,zoe,2\nzoe,ann,1\n"))
    assert forward.names == backward.names == ("ann", "bob", "zoe")
    assert torch.equal(forward.events.source, backward.events.source)


def test_whole_floats_are_integers() -> None:
    assert read_events(frame(source=[0.0, 1.0])).names is None


@pytest.mark.parametrize("time", [2**53, -(2**53), 1_600_000_000_123, -5])
def test_whole_times_stay_exact(write: Write, time: int) -> None:
    later = 2**53
    assert read_events(write(HEADER + f"0,1,{time}\n1,0,{later}\n")).events.time[0].item() == time
    assert read_events(frame(time=[time, later])).events.time[0].item() == time


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt8, pl.Int32, pl.UInt32, pl.UInt64, pl.Int128])
def test_times_of_any_width_are_read(kind: Any) -> None:
    assert read_events(frame(time=pl.Series([3, 5], dtype=kind))).events.time.tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2004-04-15", datetime.datetime(2004, 4, 15, tzinfo=datetime.UTC)),
        ("2004-04-15 05:56", datetime.datetime(2004, 4, 15, 5, 56, tzinfo=datetime.UTC)),
        ("2004-04-15T05:56:01Z", datetime.datetime(2004, 4, 15, 5, 56, 1, tzinfo=datetime.UTC)),
        ("2004-04-15T05:56:01.25+02:00", datetime.datetime(2004, 4, 15, 3, 56, 1, 250000, tzinfo=datetime.UTC)),
        ("1969-12-31 23:30:00-0130", datetime.datetime(1970, 1, 1, 1, 0, tzinfo=datetime.UTC)),
        ("1903-02-28", datetime.datetime(1903, 2, 28, tzinfo=datetime.UTC)),
    ],
)
def test_iso_dates_are_seconds_since_1970(write: Write, text: str, moment: datetime.datetime) -> None:
    time = read_events(write(HEADER + f"0,1,{text}\n1,0,2030-01-01\n")).events.time[0].item()
    assert time == moment.timestamp()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_typed_dates_are_seconds_since_1970(unit: Any) -> None:
    moments = pl.Series([datetime.datetime(1960, 1, 1, 0, 0, 1, 500000), datetime.datetime(2004, 4, 15)])
    times = read_events(frame(time=moments.cast(pl.Datetime(unit)))).events.time.tolist()
    assert times == [moment.replace(tzinfo=datetime.UTC).timestamp() for moment in moments]


def test_typed_dates_keep_their_zone() -> None:
    moments = pl.Series([datetime.datetime(2004, 1, 1), datetime.datetime(2004, 7, 1)])
    there = moments.dt.replace_time_zone("Europe/Paris")
    apart = read_events(frame(time=moments)).events.time - read_events(frame(time=there)).events.time
    assert apart.tolist() == [3600.0, 7200.0]


def test_days_are_seconds_since_1970() -> None:
    days = [datetime.date(1969, 12, 31), datetime.date(1970, 1, 2)]
    assert read_events(frame(time=days)).events.time.tolist() == [-86400.0, 86400.0]


def test_unsorted_events_are_sorted_stably_and_it_is_said_once(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    table = write("source,destination,time,mark\n3,0,5,30\n2,0,1,20\n1,0,5,10\n0,1,1,0\n")
    with caplog.at_level(logging.WARNING, "chronolink"):
        graph = read_events(table, edge_features=["mark"], label="mark")
    assert graph.events.source.tolist() == [2, 0, 3, 1]
    assert graph.edge_features[graph.events.id, 0].tolist() == [20.0, 0.0, 30.0, 10.0]
    assert graph.labels is not None
    assert graph.labels[graph.events.id].tolist() == [20, 0, 30, 10]
    assert [record.getMessage() for record in caplog.records] == ["events.csv: sorted by time (out of order: 2)"]


def test_sorted_events_are_read_without_a_word(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    read_events(write(HEADER + "0,1,1\n1,0,1\n0,1,2\n"))
    assert not caplog.records


def test_features_are_chosen_by_name_and_by_prefix() -> None:
    table = frame(f_1=[1, 2], f_2=[True, False], w=["0.5", "1e3"], time_zone=[9, 9])
    assert read_events(table, edge_features=["w", "f_*", "f_1"]).edge_features.tolist() == [[0.5, 1, 1], [1000, 2, 0]]
    # a prefix never takes the columns that have another part
    assert read_events(table, edge_features="ti*").edge_features.tolist() == [[9], [9]]


def test_node_features_come_from_a_second_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "people.csv"
    path.write_text("node,age,height\nzoe,3,1.5\nnobody,9,9\nann,4,2.5\n")
    table = frame(source=["ann", "bob"], destination=["bob", "zoe"])
    graph = read_events(table, node_features=path)
    assert graph.names == ("ann", "bob", "zoe")
    assert graph.node_features.tolist() == [[4, 2.5], [0, 0], [3, 1.5]]
    assert caplog.messages == ["people.csv: left out nodes without events (rows: 1)"]
