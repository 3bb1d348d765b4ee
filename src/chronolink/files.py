"""Files that are whole or absent"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .errors import ChronolinkError


def write_whole(path: Path, content: bytes | str) -> None:
    """Replaces a file so that a kill or a power cut leaves the old one or the new one, never a part."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ChronolinkError(f"{path} cannot be read as JSON ({error}); bring it back or start anew") from error


def write_json(path: Path, content: Any) -> None:
    write_whole(path, json.dumps(content, indent=2) + "\n")
