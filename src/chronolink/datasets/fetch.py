"""Downloads that resume, checked and cached"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import urlopen

import pooch
from filelock import FileLock

from ..errors import ChronolinkError
from .archive import unpack_whole
from .transfer import Transfer

RECORD = "https://zenodo.org/api/records/7213796"
HOME = "https://zenodo.org/records/7213796"
PATIENCE = 30.0  # seconds without an answer


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file as the record lists it."""

    name: str
    url: str
    size: int
    checksum: str  # "md5:..."


def cache() -> Path:
    """Where downloads are kept: CHRONOLINK_CACHE, or the user's cache folder."""
    return Path(os.environ.get("CHRONOLINK_CACHE") or pooch.os_cache("chronolink"))


def cached(archive: str) -> Path:
    """The folder of a set, there only when it is whole."""
    return cache() / "datasets" / archive


def fetch(archive: str) -> Path:
    """The folder of a benchmark set, downloaded when it is not in the cache yet."""
    folder = cached(archive)
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # two processes of one run may ask at once; the second finds the folder of the first
        with FileLock(folder.parent / f".{archive}.lock"):
            if not folder.is_dir():
                _download(archive, folder)
    except (OSError, HTTPException) as error:
        reason = f"HTTP {error.code}" if isinstance(error, HTTPError) else getattr(error, "reason", error)
        raise ChronolinkError(
            f"cannot download {archive}.zip from {_record()} ({reason}); try again to go on, or get it by hand from "
            f"{HOME}, unpack it and give the folder in place of the name"
        ) from error
    return folder


def _download(archive: str, folder: Path) -> None:
    kept = _retrieve(_find(archive), folder.parent)
    unpack_whole(kept, folder)
    kept.unlink()


def _record() -> str:
    return os.environ.get("CHRONOLINK_DATASETS_URL") or RECORD


def _find(archive: str) -> RemoteFile:
    with urlopen(_record(), timeout=PATIENCE) as answer:
        page = answer.read()
    try:
        listed = [_remote(entry) for entry in json.loads(page)["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ChronolinkError(f"{_record()} is no list of files; check CHRONOLINK_DATASETS_URL") from error
    for remote in listed:
        if remote.name.lower() == f"{archive.lower()}.zip":
            return remote
    raise ChronolinkError(f"{_record()} has no {archive}.zip; it has {', '.join(remote.name for remote in listed)}")


def _remote(entry: dict[str, Any]) -> RemoteFile:
    url = urljoin(_record(), entry["links"]["self"])
    return RemoteFile(Path(entry["key"]).name, url, int(entry["size"]), str(entry["checksum"]))


def _retrieve(remote: RemoteFile, folder: Path) -> Path:
    pooch.get_logger().setLevel("WARNING")
    # the checksum in its name keeps the pieces of two versions of a file apart
    part = folder / f".{remote.name}.{remote.checksum[-8:]}.part"
    try:
        kept = pooch.retrieve(
            remote.url,
            known_hash=remote.checksum,
            fname=f".{remote.name}",
            path=folder,
            downloader=Transfer(part, remote.size, PATIENCE),
        )
    except ValueError as error:
        raise ChronolinkError(
            f"{remote.name}: its checksum is not {remote.checksum}, so it was removed; try again"
        ) from error
    return Path(kept)
