"""Processes that share a folder, and which of them are alive"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


class Workers:
    """Every worker keeps a file of the folder locked; the lock falls with its process, however that ends.

    `lock` is for one of them at a time: to look round, and to take what nobody else has.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, FileLock(folder / ".lock")

    @contextmanager
    def joined(self) -> Iterator[str]:
        """A name for this process, present until the end."""
        worker = uuid.uuid4().hex
        path = self._path(worker)
        mine = FileLock(path)
        with self.lock:
            mine.acquire()
        try:
            yield worker
        finally:
            mine.release()
            path.unlink(missing_ok=True)

    def present(self) -> set[str]:
        """Those whose locks are held; the files of those that are gone are cleared away."""
        found = set()
        for path in self.folder.glob(self._path("*").name):
            try:
                with FileLock(path, timeout=0):
                    path.unlink()
            except Timeout:
                found.add(path.name.removeprefix(self._path("").name))
        return found

    def _path(self, worker: str) -> Path:
        return self.folder / f".worker-{worker}"
