"""Every block and command of README and docs is run"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, Block, blocks, commands
from tests.workshop import Rules, Workshop, catalogued

pytestmark = pytest.mark.xdist_group("docs")  # one after the other, on what one training costs

TYPED = ("console", "command")
SMALL = {  # how a chronolink command begins: what makes it quick
    "study all --plan": "--data uci --models tgat --time-encoders linear",
    "study random-negatives": "--models tgat --time-encoders linear --seeds 1",
    "study": "--publish",
    "tune": "--trials 1",
}
INSTEAD = {"make demo": "chronolink demo --out demo"}
NOT_RUN = {  # what a command matches: why it is not run here
    r"make (test|bench|format|docs)$": "it is this suite, or minutes of measuring, or the site's own build",
    r"pip install ": "tests/test_wheel.py installs what is built",
    r"pre-commit install$": "it would change this clone",
    r"pytest ": "tests/test_docs_one_file.py holds both files to the contract",
    r"(torchrun|accelerate) ": "tests/test_distributed.py runs two processes",
    r".* --ray local$": "tests/test_executors.py starts a cluster",
    r"chronolink train .*--task": "its labels lie behind the small setting; tests/test_node_runs.py trains heads",
    r"python examples/": "tests/test_examples.py runs them",
}


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log that getting started writes."""
    folder, before = tmp_path_factory.mktemp("letters"), Path.cwd()
    block = next(block for block in blocks(ROOT / "docs" / "getting-started.md") if "letters.csv" in block.text)
    os.chdir(folder)
    exec(block.text, {})
    os.chdir(before)
    return folder / "letters.csv"


@pytest.fixture
def shop(
    letters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Workshop]:
    monkeypatch.chdir(tmp_path)
    for name in ("letters.csv", "events.csv"):
        shutil.copy(letters, name)
    shop = Workshop(capsys, Rules(SMALL, INSTEAD, NOT_RUN))
    with shop.stack:
        yield shop


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_of_a_page_is_run(page: Path, shop: Workshop) -> None:
    with catalogued() if page.stem == "one-file" else nullcontext():
        for block in _distinct(page):
            try:
                shop.run(block)
            except BaseException as error:
                error.add_note(f"{page.name}, line {block.line}")
                raise


def _distinct(page: Path) -> Iterator[Block]:
    """A command that a page repeats is run once."""
    seen: set[str] = set()
    for block in blocks(page):
        typed = {" ".join(command.words) for command in commands(block)} if block.kind in TYPED else set()
        if not typed or typed - seen:
            yield block
        seen |= typed


def test_every_reason_not_to_run_a_command_is_needed() -> None:
    typed = [
        " ".join(command.words)
        for page in PAGES
        for block in blocks(page)
        if block.kind in TYPED
        for command in commands(block)
    ]
    for pattern in NOT_RUN:
        assert any(re.match(pattern, text) for text in typed), pattern


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("```ruby\nputs 1\n```\n", "neither run nor known"),
        ("```console\n$ rm -rf demo\n```\n", "nothing says how to run it"),
        ("```console\n$ chronolink trian uci\n```\n", "no command named 'trian'"),
        ("Then `chronolink train letters.csv` it.\n", "no column 'source'"),
        ("```console\n$ chronolink describe nowhere.csv\nchronolink: no such thing\n```\n", "check the path"),
        ("```python\nassert 1 > 2, 'no'\n```\n", "no"),
        ("    chronolink evaluate runs/none\n", "holds no run"),
    ],
)
def test_a_block_that_does_not_work_is_noticed(page: str, fault: str, shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    (block,) = blocks(tmp_path / "page.md")
    with pytest.raises(AssertionError, match=re.escape(fault)):
        shop.run(block)


def test_nothing_is_left_of_a_page_without_blocks(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("`chronolink COMMAND --help` and `make` are mentions, `text` is a word.\n")
    assert blocks(tmp_path / "page.md") == []
