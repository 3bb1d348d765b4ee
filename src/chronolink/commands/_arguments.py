"""Flags as people type them"""

from __future__ import annotations

import re
from argparse import ArgumentError
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, DefaultHelpFormatter, Namespace

from ..errors import ChronolinkError, unknown
from ..files import read_yaml

ALONE = ("-h", "--help", "--print_config", "--json", "--plan", "--publish", "--all")  # flags that take no value
NAMED = {"--model": "--model.name", "--time_encoder": "--time_encoder.name"}


class Verbatim(DefaultHelpFormatter):
    """Keeps the lines of a description as they are, and shows flags with hyphens, as people type them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002
        return "\n".join(indent + line for line in text.splitlines())

    def format_help(self) -> str:
        return re.sub(r"--[a-z_.]+", lambda flag: flag[0].replace("_", "-"), super().format_help())


def command_parser(command: str, description: str | None) -> ArgumentParser:
    return ArgumentParser(
        prog=f"chronolink {command}", description=description, exit_on_error=False, formatter_class=Verbatim
    )


def tidy(arguments: Sequence[str], *positional: str, several: Sequence[str] = ()) -> list[str]:
    """Hyphens in flags become underscores, `--model tgat` names the model, and bare words are the positionals in turn.

    The flags in `several` take all words up to the next flag.
    """
    tidied: list[str] = []
    listed = False
    words = iter(arguments)
    for word in words:
        if listed and not word.startswith("-"):
            tidied.append(word)
            continue
        if not word.startswith("-") or word == "-":
            free = next((name for name in positional if f"--{name}" not in tidied), None)
            if free is None:
                raise ChronolinkError(f"'{word}' is one word too many; give one {' and one '.join(positional)}")
            tidied += [f"--{free}", word]
            continue
        flag, equals, value = word.partition("=")
        flag = flag[:2] + flag[2:].replace("-", "_")
        tidied.append(NAMED.get(flag, flag) + equals + value)
        listed = flag in several and not equals
        if equals or listed or flag in ALONE:
            continue
        for value in islice(words, 1):
            if re.match("-[^-]", value):  # argparse would see a flag
                tidied[-1] += f"={value}"
            else:
                tidied.append(value)
    return tidied


def asked_for(tidied: Sequence[str], key: str, default: str) -> str:
    """A value that decides which other flags there are: from the flags, else from the configuration file."""
    found = default
    for flag, value in _pairs(tidied):
        if flag == "--config":
            found = str(_at(read_yaml(Path(value)), key) or found)
    for flag, value in _pairs(tidied):
        if flag == f"--{key}":
            found = value
    return found


def parse(parser: ArgumentParser, tidied: list[str]) -> Namespace:
    """The parsed flags, or one sentence about the first that is wrong."""
    known = [flag for action in parser._actions for flag in action.option_strings]
    for flag in (word.partition("=")[0] for word in tidied if word.startswith("--")):
        if flag not in known and not flag.endswith("+"):
            raise unknown("option", flag.replace("_", "-"), [k.replace("_", "-") for k in known if k.startswith("--")])
    try:
        return parser.parse_args(tidied)
    except (ArgumentError, TypeError) as error:
        sentence = " ".join(str(error).replace('Parser key "', '"').split())
        raise ChronolinkError(re.sub(r"<class '(\w+)'>|typing\.Literal", r"\1", sentence)) from None


def _pairs(tidied: Sequence[str]) -> list[tuple[str, str]]:
    split = [word.partition("=") for word in tidied]
    following = [*tidied, ""][1:]
    return [(flag, value if equals else after) for (flag, equals, value), after in zip(split, following, strict=False)]


def _at(settings: dict[str, Any], key: str) -> Any:
    found: Any = settings
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
