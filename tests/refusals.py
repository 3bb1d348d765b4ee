"""What makes the readers refuse, a case a sentence"""

from __future__ import annotations

import datetime
import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from chronolink import EventStream, RunFolder, Split, Training, build, fit, load, read_events

HEADER = "source,destination,time\n"
ROWS = HEADER + "a,b,1\nb,a,2\n"


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"source": [0, 1], "destination": [1, 0], "time": [1, 2], **columns})


def csv(text: str | bytes, name: str = "log.csv", **columns: Any) -> Callable[[], object]:
    def read() -> object:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(name, **columns)

    return read


def of(events: Any, **columns: Any) -> Callable[[], object]:
    return lambda: read_events(events, **columns)


def time(cell: str) -> Callable[[], object]:
    return csv(f"{HEADER}a,b,5\nb,a,{cell}\n")


def amount(cell: str) -> Callable[[], object]:
    return csv(f"source,destination,time,amount\na,b,1,2\nb,a,2,{cell}\n", edge_features=["amount"])


def folder(*names: str, csv: str = "u,i,ts,label,idx\n1,2,1,0,1\n2,1,2,0,2\n", **arrays: Any) -> Callable[[], object]:
    """A set in the benchmark's format with these files."""

    def read() -> object:
        Path("set").mkdir()
        for name in names:
            Path("set", name).write_text(csv)
        for name, array in arrays.items():
            path = Path("set", f"{name}.npy")
            path.write_bytes(array) if isinstance(array, bytes) else np.save(path, array)
        return load("set")

    return read


def archive(content: bytes | None) -> Callable[[], object]:
    def read() -> object:
        if content is None:
            zipfile.ZipFile("set.zip", "w").close()
        else:
            Path("set.zip").write_bytes(content)
        return load("set.zip")

    return read


def a_slip() -> object:
    Path("log.csv").write_text(ROWS)
    return load("log.cvs")


def a_folder() -> object:
    Path("log").mkdir()
    return read_events("log")


def another_kind() -> object:
    Path("log.xlsx").write_bytes(b"PK")
    return load("log.xlsx")


def split(rows: str) -> Callable[[], object]:
    return lambda: Split.of(csv(HEADER + rows)())  # type: ignore[arg-type]


def changed() -> object:
    rows = [f"{i % 5},{(i + 1 + i % 3) % 5},{i}" for i in range(60)]
    Path("log.csv").write_text("\n".join([HEADER.strip(), *rows]))
    graph = load("log.csv")
    fit(build("recency", graph), graph, Training(epochs=0), out="runs/log")
    Path("log.csv").write_text("\n".join([HEADER.strip(), *rows[1:]]))
    return RunFolder("runs/log").open()


def stream(*columns: Any) -> Callable[[], object]:
    return lambda: EventStream(*(torch.as_tensor(column) for column in columns))


DOUBLE = torch.tensor([1.0, 2.0], dtype=torch.float64)
CUT = gzip.compress(ROWS.encode())[:15]
EVENTS, NODES = np.ones((3, 2)), np.zeros((3, 1))
CASES = [
    a_slip,
    of("nowhere/log.csv"),
    of("~zoe/log.csv"),
    lambda: load("ucy"),
    lambda: load("uci", source="who"),
    another_kind,
    a_folder,
    csv(""),
    csv(HEADER),
    csv(HEADER + "a,b,1\n"),
    csv(ROWS, destination="source"),
    csv(HEADER.encode() + b"\xff,b,1\nb,a,2\n"),
    csv(b"\0\1\2\n"),
    csv(HEADER + 'a,b,1\nb,a,"2\n'),
    csv(CUT, "log.csv.gz"),
    csv("source,destination,time,time\na,b,1,1\nb,a,2,2\n"),
    csv(HEADER + "a,b,1\nb,a\n"),
    csv("junk", "log.parquet"),
    of(5),
    csv("source,destination,Time\na,b,1\nb,a,2\n"),
    csv(ROWS, time="when"),
    csv(HEADER + "a,b,1\n,a,2\n"),
    of(frame(source=[0.0, 1.5])),
    of(frame(source=[True, False])),
    time(""),
    time("soon"),
    time("2004-04-15"),
    time("inf"),
    time("9007199254740993"),
    of(frame(time=[True, False])),
    csv("source,destination,time,amount\na,b,1,2\nb,a,2,3\n", edge_features="f_*"),
    amount(""),
    amount("x"),
    of(frame(amount=[1.0, float("nan")]), edge_features="amount"),
    of(frame(amount=[1.0, 1e39]), edge_features="amount"),
    of(frame(amount=[datetime.date(2000, 1, 1)] * 2), edge_features="amount"),
    of(frame(state=[1.0, 0.5]), label="state"),
    of(frame(source=["ann", "bob"], destination=["bob", "ann"]), node_features={"node": ["ann"] * 3, "age": [1, 2, 3]}),
    of(frame(), node_features={"node": ["zoe"], "age": [1]}),
    split("a,b,1\nb,c,1\n"),
    changed,
    stream([0, 1], [1, 0], DOUBLE.flip(0), [0, 1]),
    stream([0, 1], [1, 0], DOUBLE * torch.inf, [0, 1]),
    stream(torch.tensor([0, 1], dtype=torch.int32), [1, 0], DOUBLE, [0, 1]),
    lambda: EventStream.sorted([0, 1], [1], [1.0, 2.0]),
    folder(),
    folder("ml_a.csv", "ml_b.csv"),
    folder("ml_a.csv", ml_a_node=NODES),
    folder("ml_a.csv", csv="u,i,ts,label,idx\n0,2,1,0,1\n2,1,2,0,2\n", ml_a=EVENTS, ml_a_node=NODES),
    folder("ml_a.csv", ml_a=b"junk", ml_a_node=NODES),
    folder("ml_a.csv", ml_a=np.array([["x", "y"]] * 2), ml_a_node=NODES),
    folder("ml_a.csv", ml_a=EVENTS[:2], ml_a_node=NODES),
    folder("ml_a.csv", ml_a=np.array([[0.0], [1.0], [np.inf]]), ml_a_node=NODES),
    archive(b"junk"),
    archive(None),
]
