"""A file is whole or absent, whenever its writer is killed"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chronolink.files import write_json, write_whole
from tests.full_disk import full_disk

SIZE = 4_000_000

KILLED_AT = {
    "the first byte": "File.write = lambda file, content: die()",
    "the middle": "File.write = lambda file, content: (io.FileIO.write(file, content[:1500]), die())",
    "the end of writing": "os.fsync = lambda number: die()",
    "the moment before replacing": "pathlib.Path.replace = lambda part, path: die()",
}

WRITER = """
import io, os, pathlib, signal, sys, types
def die(): os.kill(os.getpid(), signal.SIGKILL)
class File(io.FileIO): pass
pathlib.Path.open = lambda path, mode: File(path, mode)
{fault}
path = pathlib.Path(sys.argv[1])
sys.path.insert(0, {sources!r})
package = types.ModuleType("chronolink")  # without the rest of the package, which would load torch
package.__path__ = [{sources!r} + "/chronolink"]
sys.modules["chronolink"] = package
from chronolink.files import write_whole
write_whole(path, b"new" * 1000)
"""

BUSY_WRITER = """
import itertools, pathlib, sys, types
package = types.ModuleType("chronolink")
package.__path__ = [{sources!r} + "/chronolink"]
sys.modules["chronolink"] = package
from chronolink.files import write_whole
print("ready", flush=True)
for letter in itertools.cycle(b"abc"):
    write_whole(pathlib.Path(sys.argv[1]), bytes([letter]) * {size})
"""


def sources() -> str:
    import chronolink

    return str(Path(chronolink.__file__).parent.parent)


@pytest.mark.parametrize("content", ["a line\n", b"\x00\xff", "", "ü€\n", b"x" * SIZE])
def test_what_is_written_is_what_is_read(tmp_path: Path, content: str | bytes) -> None:
    write_whole(tmp_path / "file", content)
    wanted = content.encode() if isinstance(content, str) else content
    assert (tmp_path / "file").read_bytes() == wanted


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write_whole(tmp_path / "file.json", "a longer first text")
    write_whole(tmp_path / "file.json", "short")
    assert (tmp_path / "file.json").read_text() == "short"
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


def test_what_a_killed_writer_left_beside_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".file.part").write_bytes(b"half of a much longer text")
    write_whole(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_json_is_indented_and_ends_with_a_line_end(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"ap": 0.1 + 0.2, "none": None})
    text = (tmp_path / "file.json").read_text()
    assert json.loads(text) == {"ap": 0.1 + 0.2, "none": None}
    assert text.startswith('{\n  "ap"')
    assert text.endswith("}\n")


def test_content_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"old": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "file.json", {"new": object()})
    assert json.loads((tmp_path / "file.json").read_text()) == {"old": 1}


@pytest.mark.parametrize("moment", KILLED_AT)
@pytest.mark.parametrize("old", [b"old", None])
def test_a_writer_killed_midway_leaves_the_old_file_or_none(tmp_path: Path, moment: str, old: bytes | None) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    program = WRITER.format(fault=KILLED_AT[moment], sources=sources())
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert (path.read_bytes() if path.exists() else None) == old
    write_whole(path, "and the next writer goes on")
    assert path.read_text() == "and the next writer goes on"


def test_a_busy_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for delay in (0.05, 0.083, 0.121, 0.157, 0.2):
        path.write_bytes(b"z" * SIZE)
        command = [sys.executable, "-c", BUSY_WRITER.format(sources=sources(), size=SIZE), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(delay)
            os.kill(writer.pid, signal.SIGKILL)
        content = path.read_bytes()
        assert len(content) == SIZE
        assert len(set(content)) == 1


def test_a_disk_without_room_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    write_whole(path, "old")
    with full_disk(1000), pytest.raises(OSError, match="large") as refused:
        write_whole(path, b"x" * SIZE)
    assert refused.value.filename == str(path)
    assert [found.name for found in tmp_path.iterdir()] == ["kept"]
    assert path.read_text() == "old"
