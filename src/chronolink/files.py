"""Files that are whole or absent"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from .errors import ChronolinkError


def write_whole(path: Path, content: bytes | str) -> None:
    """Replaces a file so that a kill or a power cut leaves the old one or the new one, never a part."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        error.filename = str(path)  # a full disk names none
        raise


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ChronolinkError(f"{path} cannot be read as JSON ({error}); bring it back or start anew") from error


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ChronolinkError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ChronolinkError(f"{path} holds no settings; write `key: value` lines, as --print-config does")
    return content


def write_json(path: Path, content: Any) -> None:
    write_whole(path, json.dumps(content, indent=2) + "\n")
