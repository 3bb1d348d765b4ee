"""Indented formulae in docstrings keep their lines"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def literal(_app: Sphinx, _kind: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Turns an indented paragraph into a literal block; the options below `Args:` follow no empty line, and stay."""
    for place in range(len(lines) - 1, 0, -1):
        begins = lines[place].startswith("    ") and not lines[place - 1].strip()
        if begins and not _within(lines, place - 1):
            lines[place:place] = ["::", ""]


def _within(lines: list[str], place: int) -> bool:
    """Whether the empty line there is in the midst of an indented block."""
    before = next((line for line in reversed(lines[:place]) if line.strip()), "")
    return before.startswith("    ")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", literal, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
