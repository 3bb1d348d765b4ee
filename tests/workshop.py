"""A folder where the blocks of a page are run"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
import torch

import chronolink.models
import chronolink.time_encoders
from chronolink import TemporalGraph, estimate, job
from chronolink.catalogue import members
from chronolink.cli import main
from chronolink.dataset import Dataset
from chronolink.training.head import HeadTraining
from chronolink.training.options import Training
from tests.pages import ROOT, Block, Command, commands
from tests.services import served

EVENTS, EPOCHS = 800, 1  # of a named data set, and of any training
WHOLE = ("datasets", "describe")  # commands that are quick, and so are given whole data
ONCE = ("make demo", "chronolink study")  # nothing on a page rests on these: one page is enough
INERT = ("text", "yaml", "directive")  # what is typed nowhere; the site's build reads the directives


@contextmanager
def small_setting() -> Iterator[None]:
    """Named data sets lose all but their first events, trainings all but one epoch."""
    load = Dataset.load
    with ExitStack() as stack:
        stack.enter_context(patch.object(Dataset, "load", lambda dataset: _first(load(dataset))))
        for options in (Training, HeadTraining):
            stack.enter_context(patch.object(options, "__post_init__", _briefly(options.__post_init__)))
        _forget()
        yield
    _forget()


def _first(graph: TemporalGraph) -> TemporalGraph:
    """Labels are rare, and each part of a split needs some, so every fifth event gets one."""
    labels = None if graph.labels is None else (torch.arange(len(graph.labels)) % 5 == 0).long()
    return replace(graph.cut(graph.events[:EVENTS]), labels=labels)


def _briefly(check: Callable[[Any], None]) -> Callable[[Any], None]:
    def checked(options: Any) -> None:
        object.__setattr__(options, "epochs", min(options.epochs, EPOCHS))
        check(options)

    return checked


def _forget() -> None:
    """What is known of a data set by its name belongs to one setting."""
    job._digest.cache_clear()
    estimate._data.cache_clear()


@contextmanager
def catalogued() -> Iterator[None]:
    """The files of the page about one file, as if they were in the catalogue."""
    before = set(sys.modules)
    with ExitStack() as stack:
        for package in (chronolink.models, chronolink.time_encoders):
            folder = ROOT / "docs" / "code" / package.__name__.rpartition(".")[2]
            stack.enter_context(patch.object(package, "__path__", [*package.__path__, str(folder)]))
        yield
    for name in ("chronolink.models.acquaintance", "chronolink.time_encoders.logarithm"):
        if name not in before:
            sys.modules.pop(name, None)


@dataclass(frozen=True)
class Rules:
    """What is done with a command that cannot be run as it stands."""

    small: Mapping[str, str]  # how a chronolink command begins: flags that make it quick
    instead: Mapping[str, str]  # a command: another that does the same here
    not_run: Mapping[str, str]  # a pattern: why what matches it is not run


class Workshop:
    """Runs the blocks of one page in turn, in the folder that it is in; Python blocks share their names."""

    done: ClassVar[set[str]] = set()

    def __init__(self, capture: pytest.CaptureFixture[str], rules: Rules) -> None:
        self.capture, self.rules = capture, rules
        self.names: dict[str, Any] = {}
        self.stack, self.address = ExitStack(), ""  # of the service, once it is begun

    def run(self, block: Block) -> None:
        if block.file is not None:
            Path(block.file).write_text(block.text)
        elif block.kind == "python":
            with small_setting():
                exec(compile(block.text, f"the block of line {block.line}", "exec"), self.names)
        elif block.kind == "console":
            for command in commands(block):
                self.type(command, compared=not block.sample)
        elif block.kind == "command":
            self.type(Command(block.text, ""))
        else:
            assert block.kind in INERT, f"a block of '{block.kind}' is neither run nor known to be inert"

    def type(self, command: Command, compared: bool = False) -> None:
        text = " ".join(command.words)
        if any(re.match(pattern, text) for pattern in self.rules.not_run) or text in self.done:
            return
        if text.startswith(ONCE):
            self.done.add(text)
        self.capture.readouterr()
        command = Command(self.rules.instead.get(text, command.text), command.output)
        if command.words[0] == "chronolink":
            shown = self._chronolink(command)
        else:
            assert command.words[0] == "curl", f"nothing says how to run it: {text}"
            shown = self._curl(command.text)
        if compared and command.output:
            assert shown.rstrip() == command.output.rstrip(), f"{text} prints: {shown}"

    def _chronolink(self, command: Command) -> str:
        words = command.words[1:]
        if words[0] == "serve":
            self.address = self.stack.enter_context(served(Path(words[1])))
            return ""
        if len(words) == 1 and words[0] != "datasets":
            assert words[0] in members("commands")  # a mention of the command, without what it needs
            return ""
        extra = next((more for start, more in self.rules.small.items() if " ".join(words).startswith(start)), "")
        with nullcontext() if words[0] in WHOLE else small_setting():
            code = _typed([*words, *extra.split()])
        said = self.capture.readouterr()
        refused = command.output.startswith("chronolink: ")
        assert code == (2 if refused else 0), f"{command.text}: {said.err}"
        return said.err if refused else said.out

    def _curl(self, text: str) -> str:
        if shutil.which("curl") is None:
            return ""
        asked = text.replace("http://127.0.0.1:8000/", self.address)
        done = subprocess.run(f"{asked} --fail-with-body", shell=True, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}: {done.stdout} {done.stderr}"
        return done.stdout


def _typed(words: list[str]) -> int:
    """The exit code; --help and --print-config leave by an exception."""
    try:
        return main(words)
    except SystemExit as stopped:
        return int(stopped.code or 0)
