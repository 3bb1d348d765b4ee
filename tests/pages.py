"""Blocks and commands of a page of Markdown"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = ("chronolink", "make", "torchrun", "accelerate", "pip", "python", "pytest", "pre-commit", "curl", "git")
SAMPLE = "<!-- numbers of a longer run -->"  # above a block whose output is not that of the small setting


@dataclass(frozen=True)
class Block:
    """Something on a page that a reader may type or copy."""

    kind: str  # its language; `command` for a command within a sentence
    text: str
    line: int
    file: str | None = None  # where its caption says that it is a file
    sample: bool = False


@dataclass(frozen=True)
class Command:
    """A command and what the page shows as its output, if it shows any."""

    text: str
    output: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def blocks(page: Path) -> list[Block]:
    """Fenced and indented blocks, and commands within sentences, in the order of the page."""
    found: list[Block] = []
    above = ""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "fence":
            found.append(_fenced(token, line, above == SAMPLE))
        elif token.type == "code_block":
            kind = "console" if token.content.split()[0] in PROGRAMS else "text"
            found.append(Block(kind, token.content, line))
        elif token.type == "inline":
            found += _spoken(token, line)
        above = token.content.strip()
    return found


def _fenced(token: Token, line: int, sample: bool) -> Block:
    directive = re.fullmatch(r"\{code-block\} (\w+)", token.info)
    if directive is None:
        kind = "directive" if token.info.startswith("{") else token.info
        return Block(kind, token.content, line, sample=sample)
    caption, _, text = token.content.partition("\n\n")
    return Block(directive[1], text, line, caption.removeprefix(":caption: ").strip())


def _spoken(token: Token, line: int) -> Iterator[Block]:
    """Commands in code within a sentence; a word in capitals stands for whatever the reader has."""
    for child in token.children or ():
        words = child.content.split()
        spoken = child.type == "code_inline" and len(words) > 1 and words[0] in PROGRAMS
        if spoken and not any(word.isupper() for word in words):
            yield Block("command", " ".join(words), line)


def commands(block: Block) -> list[Command]:
    """Of a console block; without prompts every line is a command."""
    prompted = "$ " in block.text
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ ") or not prompted:
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line.rstrip())
    return [Command(text, "\n".join(output)) for text, output in found if text.strip()]
