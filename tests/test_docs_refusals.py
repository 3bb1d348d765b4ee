"""Every sentence of the page about data is said"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from chronolink import ChronolinkError
from tests.pages import ROOT
from tests.refusals import CASES

PAGE = (ROOT / "docs" / "your-data.md").read_text()
SOURCE = ROOT / "src" / "chronolink"
READERS = ("read.py", "dataset.py", "events.py", "split.py", "readers/*.py", "datasets/zenodo_format.py")
FILES = [path for pattern in READERS for path in sorted(SOURCE.glob(pattern))]
ELSEWHERE = {"' is no time; write it like 1082008561 or 2004-04-15 05:56:01"}  # of asked times, not of files


def test_the_page_shows_what_is_said_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = set()
    for number, case in enumerate(CASES):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        with pytest.raises(ChronolinkError) as caught:
            case()
        said.add(str(caught.value).replace(f"{folder}/", ""))
    assert said == written()


def written() -> set[str]:
    """The first column of the tables of refusals."""
    section = PAGE.partition("## Every refusal")[2]
    return set(re.findall(r"^\| `(.+?)` \|", section, re.MULTILINE))


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_refusal_of_a_reader_is_on_the_page(path: Path) -> None:
    page = " ".join(PAGE.split())
    for advice in _advice(path):
        assert advice in page or advice in ELSEWHERE, advice


def _advice(path: Path) -> list[str]:
    """Pieces of the sentences that a file can refuse with: those where the advice begins."""
    tree = ast.parse(path.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    return [node.value for node in texts if isinstance(node.value, str) and "; " in node.value]


def test_the_refusals_of_a_reader_are_found() -> None:
    assert ": not a Parquet file; write it again, or name it after what it holds" in _advice(
        SOURCE / "readers" / "tables.py"
    )
