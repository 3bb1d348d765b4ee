"""The command line: one file a command"""

from __future__ import annotations

import ast
import logging
import os
import sys
from argparse import ArgumentError
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files

from rich.console import Console

from .allocator import keep_buffers
from .catalogue import members, plain
from .errors import ChronolinkError, unknown


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; what a user can mend is one sentence and exit code 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    logging.basicConfig(format="chronolink: %(message)s", level=logging.WARNING)
    keep_buffers()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ChronolinkError, ArgumentError) as error:
        _complain(" ".join(str(error).split()))
        return 2
    except OSError as error:
        if error.filename is None:
            raise
        _complain(f"{error.filename}: {(error.strerror or str(error)).lower()}")
        return 2
    except KeyboardInterrupt:
        _complain(f"stopped{_next(arguments)}")
        return 130


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        Console().print(_overview(), markup=False, highlight=False, soft_wrap=True)
        return 0
    if arguments[0] in ("-V", "--version", "version"):
        print(version("chronolink"))
        return 0
    if plain(arguments[0]) not in members("commands"):
        raise unknown("command", arguments[0], members("commands"))
    command = import_module(f"chronolink.commands.{plain(arguments[0])}")
    command.main(arguments[1:])
    return 0


def _next(arguments: Sequence[str]) -> str:
    """What to do after a command was stopped, where it says so."""
    command = sys.modules.get(f"chronolink.commands.{plain(arguments[0])}") if arguments else None
    return f"; {advice}" if (advice := getattr(command, "WHEN_STOPPED", None)) else ""


def _overview() -> str:
    lines = ["usage: chronolink COMMAND ...", "", "Learn from a stream of events which links come next.", ""]
    for name in members("commands"):
        lines.append(f"  {name:<10} {_summary(name)}")
    return "\n".join([*lines, "", "`chronolink COMMAND --help` lists the options of a command."])


def _summary(command: str) -> str:
    """The first line of a command's docstring, read without what the command needs to run."""
    text = (files("chronolink.commands") / f"{command}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def _complain(sentence: str) -> None:
    if os.environ.get("RANK", "0") == "0":
        Console(stderr=True).print(f"chronolink: {sentence}", markup=False, highlight=False, soft_wrap=True)
