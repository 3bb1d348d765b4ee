"""Zip archives, unpacked safely and whole"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from ..errors import ChronolinkError


def unpack(archive: Path, folder: Path) -> None:
    """Put the benchmark's files of a zip into a folder, under their bare names: no member can leave it."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            members = [member for member in bundle.infolist() if _wanted(member)]
            for member in members:
                _extract(bundle, member, folder / PurePosixPath(member.filename).name)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise ChronolinkError(f"{archive.name}: cannot be unpacked ({error}); get it again") from error
    if not members:
        raise ChronolinkError(f"{archive.name}: no files ml_*.csv and ml_*.npy in it; check the archive")


def unpack_whole(archive: Path, folder: Path) -> None:
    """Unpack beside the folder and rename at the end, so a folder of that name is always whole."""
    for stale in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as parent:
        fresh = Path(parent) / folder.name
        fresh.mkdir()
        unpack(archive, fresh)
        os.replace(fresh, folder)


def _wanted(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    hidden = "__MACOSX" in path.parts
    return not hidden and path.name.startswith("ml_") and path.suffix in (".csv", ".npy")


def _extract(bundle: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path) -> None:
    try:
        with bundle.open(member) as packed, file.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    except NotImplementedError:
        _extract_with_unzip(bundle, member, file)


def _extract_with_unzip(bundle: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path) -> None:
    """The benchmark's Reddit archive is packed with Deflate64, which Python does not read and unzip does."""
    archive = str(bundle.filename)
    tool = shutil.which("unzip")
    advice = f"unpack {archive} by other means and give the folder"
    if tool is None:
        raise ChronolinkError(f"{member.filename}: its compression needs the program unzip; install it, or {advice}")
    with file.open("wb") as plain:
        done = subprocess.run([tool, "-p", archive, member.filename], stdout=plain, stderr=subprocess.PIPE)
    if done.returncode or file.stat().st_size != member.file_size:
        raise ChronolinkError(f"{member.filename}: unzip could not unpack it; {advice}")
