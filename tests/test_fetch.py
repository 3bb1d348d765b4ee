"""Downloads resume, are checked, and are kept"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chronolink.dataset import datasets, load
from chronolink.datasets import archive, fetch
from chronolink.errors import ChronolinkError


def bundle() -> bytes:
    """A zip in the benchmark's format, large enough to be cut."""
    table = io.BytesIO()
    np.save(table, np.random.default_rng(0).normal(size=(401, 172)))
    nodes = io.BytesIO()
    np.save(nodes, np.zeros((3, 4)))
    rows = "".join(f"{row},1,2,{row}.0,0,{row + 1}\n" for row in range(400))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as whole:
        whole.writestr("wikipedia/ml_wikipedia.csv", ",u,i,ts,label,idx\n" + rows)
        whole.writestr("wikipedia/ml_wikipedia.npy", table.getvalue())
        whole.writestr("wikipedia/ml_wikipedia_node.npy", nodes.getvalue())
        whole.writestr("../../ml_escaped.npy", b"")
        whole.writestr("wikipedia/wikipedia.csv", "not read")
    return packed.getvalue()


class Mirror(ThreadingHTTPServer):
    """A record with one archive; how it misbehaves is set by the test."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.archive = bundle()
        self.checksum = "md5:" + hashlib.md5(self.archive).hexdigest()
        self.cuts: list[int] = []  # bytes after which the next answers break off
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/record"

    def record(self) -> bytes:
        links = {"self": f"{self.url}/wikipedia.zip"}
        other = {"key": "uci.zip", "size": 1, "checksum": "md5:0", "links": links}
        listed = {"key": "Wikipedia.zip", "size": len(self.archive), "checksum": self.checksum, "links": links}
        return json.dumps({"files": [other, listed]}).encode()


class Answer(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append((self.path, wanted))
        if not self.path.endswith(".zip"):
            self.give(200, self.server.record())
        elif wanted and self.server.ranges:
            self.give_archive(206, int(wanted.removeprefix("bytes=").removesuffix("-")))
        else:
            self.give_archive(200, 0)

    def give_archive(self, status: int, start: int) -> None:
        cut = self.server.cuts.pop(0) if self.server.cuts else None
        self.give(status, self.server.archive[start:], cut)

    def give(self, status: int, body: bytes, cut: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    server = Mirror()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("CHRONOLINK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CHRONOLINK_DATASETS_URL", server.url)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def kept() -> list[str]:
    """What a download left in the cache, locks aside."""
    files = (path for path in fetch.cache().rglob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(path.relative_to(fetch.cache()).as_posix() for path in files)


WHOLE = [f"datasets/wikipedia/{name}" for name in ("ml_escaped.npy", "ml_wikipedia.csv", "ml_wikipedia.npy")]
WHOLE.append("datasets/wikipedia/ml_wikipedia_node.npy")


def test_a_set_is_downloaded_once_and_then_read_from_the_cache(mirror: Mirror) -> None:
    listed = next(dataset for dataset in datasets() if dataset.name == "wikipedia")
    assert not listed.on_disk
    first = load("Wikipedia")
    assert (len(first.events), first.edge_features.shape, first.name) == (400, (400, 172), "wikipedia")
    assert listed.on_disk
    assert len(mirror.asked) == 2
    assert load("wikipedia").digest() == first.digest()
    assert len(mirror.asked) == 2
    assert kept() == WHOLE


def test_no_member_of_an_archive_leaves_the_folder(mirror: Mirror, tmp_path: Path) -> None:
    load("wikipedia")
    assert mirror.asked
    assert [path.parent.name for path in tmp_path.rglob("ml_escaped.npy")] == ["wikipedia"]


def test_a_cut_connection_is_resumed_where_it_broke(mirror: Mirror, tmp_path: Path) -> None:
    whole = load("wikipedia")
    shutil.rmtree(tmp_path / "cache")
    mirror.asked.clear()
    mirror.cuts = [100_000, 50_000]
    assert load("wikipedia").digest() == whole.digest()
    assert [wanted for path, wanted in mirror.asked if path.endswith(".zip")] == [
        None,
        "bytes=100000-",
        "bytes=150000-",
    ]


def test_a_download_that_was_given_up_goes_on_next_time(mirror: Mirror) -> None:
    mirror.cuts = [100_000, 0, 0, 0, 0]
    with pytest.raises(ChronolinkError, match=r"cannot download wikipedia.zip .*stopped at 100000 of"):
        load("wikipedia")
    assert [name.endswith(".part") for name in kept()] == [True]
    mirror.asked.clear()
    assert len(load("wikipedia").events) == 400
    assert mirror.asked[1][1] == "bytes=100000-"
    assert kept() == WHOLE


def test_a_server_without_ranges_sends_the_whole_again(mirror: Mirror) -> None:
    mirror.ranges = False
    mirror.cuts = [100_000]
    assert len(load("wikipedia").events) == 400
    assert [wanted for _, wanted in mirror.asked[1:]] == [None, "bytes=100000-"]


def test_a_wrong_checksum_is_refused_and_the_file_removed(mirror: Mirror) -> None:
    good, mirror.checksum = mirror.checksum, "md5:" + "0" * 32
    with pytest.raises(ChronolinkError, match=r"Wikipedia.zip: its checksum is not md5:0+, so it was removed"):
        load("wikipedia")
    assert kept() == []
    mirror.checksum = good
    assert len(load("wikipedia").events) == 400


def test_without_a_server_it_is_said_what_to_do(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHRONOLINK_DATASETS_URL", "http://127.0.0.1:9/record")
    with pytest.raises(ChronolinkError, match=r"get it by hand from https://zenodo.org/records/7213796") as caught:
        load("wikipedia")
    assert "\n" not in str(caught.value)
    assert not mirror.asked


def test_a_set_that_the_record_lacks_is_refused(mirror: Mirror) -> None:
    with pytest.raises(ChronolinkError, match=r"has no mooc.zip; it has uci.zip, Wikipedia.zip"):
        load("mooc")
    assert len(mirror.asked) == 1


def test_a_page_that_is_no_record_is_refused(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "record", lambda: b"<html>")
    with pytest.raises(ChronolinkError, match="is no list of files; check CHRONOLINK_DATASETS_URL"):
        load("wikipedia")


def test_a_killed_extraction_is_never_taken_for_whole(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = archive._extract, []

    def die_at_the_second(*arguments: Any) -> None:
        seen.append(arguments)
        if len(seen) == 2:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(archive, "_extract", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        load("wikipedia")
    assert not fetch.cached("wikipedia").exists()
    # what a killed process leaves behind
    stale = fetch.cached(".wikipedia-stale") / "wikipedia" / "ml_wikipedia.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("half")
    asked = len(mirror.asked)
    assert len(load("wikipedia").events) == 400
    # the archive was whole, so only the record was asked again
    assert len(mirror.asked) == asked + 1
    assert kept() == WHOLE


def test_two_at_once_download_once(mirror: Mirror) -> None:
    threads = [threading.Thread(target=load, args=("wikipedia",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(path.endswith(".zip") for path, _ in mirror.asked) == 1


def test_a_compression_that_python_cannot_read_asks_for_unzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = bytearray(bundle())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = packed.find(signature)
        packed[start + offset] = 9  # Deflate64
    (tmp_path / "reddit.zip").write_bytes(packed)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ChronolinkError, match="needs the program unzip; install it, or unpack"):
        load(tmp_path / "reddit.zip")
