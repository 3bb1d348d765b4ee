"""Records that are whole or absent"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from .errors import ChronolinkError
from .files import write_whole

BEGINNING = b"chronolink journal 1\n"
HEAD = struct.Struct("<II")  # bytes of the record, and their CRC-32
MOST = 2**31  # bytes of a record


class Journal:
    """A file that records are appended to, one process at a time.

    A record is on the disk when `append` returns. A kill or a power cut in its midst leaves a torn one at the end,
    which its length or its checksum gives away; it was never acknowledged, and the next append writes over it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = len(BEGINNING)  # of the last whole record that was read or written
        self._file: FileIO | None = None

    def unread(self) -> Iterator[bytes]:
        """The whole records behind those that were read or written before."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            if file.read(len(BEGINNING)) != BEGINNING:
                raise ChronolinkError(f"{self.path} is no journal; bring it back or move it away")
            file.seek(self.end)
            while (record := _whole(file)) is not None:
                self.end = file.tell()
                yield record

    def lock(self) -> bool:
        """Makes this process the only one that appends; tells whether it was not before."""
        if self._file is not None:
            return False
        file = self._opened()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise ChronolinkError(f"another process appends to {self.path}; stop it, or append through it") from error
        self._file = file
        return True

    def append(self, record: bytes) -> None:
        """Durable when it returns; if it raises, nothing was written. All records must have been read before."""
        self.lock()
        assert self._file is not None
        if len(record) >= MOST:
            raise ChronolinkError(f"{len(record)} bytes at once are too many; append fewer events at a time")
        try:
            self._file.truncate(self.end)
            end = _write_at(self._file, self.end, HEAD.pack(len(record), zlib.crc32(record)) + record)
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self.end)
            raise self._unwritable(error) from error
        self.end = end

    def _opened(self) -> FileIO:
        """Without a buffer, in which a record that was refused could wait to be written after all."""
        try:
            if not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self.path, BEGINNING)
            return self.path.open("r+b", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ChronolinkError:
        return ChronolinkError(f"{self.path} cannot be written ({str(error.strerror).lower()}); nothing was kept")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _write_at(file: FileIO, place: int, content: bytes) -> int:
    """Where the content ends; a disk that fills may take a part of it at a time."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(file.fileno(), rest, place)
        place, rest = place + written, rest[written:]
    return place


def _whole(file: BinaryIO) -> bytes | None:
    """The next record, or None where there is none or a torn one."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    length, checksum = HEAD.unpack(head)
    if length >= MOST:
        return None
    record = file.read(length)
    return record if len(record) == length and zlib.crc32(record) == checksum else None
