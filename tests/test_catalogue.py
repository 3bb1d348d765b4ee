"""A folder is the registry: names find classes, and a new file is a new member"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

import chronolink.models
from chronolink import build
from chronolink.catalogue import find, members, plain
from chronolink.errors import ChronolinkError, unknown
from chronolink.model import LinkModel
from chronolink.models.tgat import Tgat
from chronolink.time_encoder import TimeEncoder
from tests.streams import random_graph

SOURCES = Path(chronolink.models.__file__).parent.parent

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Puts a file into the folder of models, as far as Python can tell."""
    monkeypatch.setattr(chronolink.models, "__path__", [*chronolink.models.__path__, str(tmp_path)])
    written: list[str] = []

    def put(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        written.append(name)
        invalidate_caches()

    yield put
    for name in written:
        sys.modules.pop(f"chronolink.models.{name}", None)
        vars(chronolink.models).pop(name, None)


NEW = """
from chronolink.model import LinkModel
from chronolink.models.tgat import Tgat  # imported, not defined here

class _Base(LinkModel):
    pass

class Helper:
    pass

class Constant(_Base):
    def __init__(self, graph):
        super().__init__()

    def forward(self, query, history):
        return query.time.float() * 0
"""


@pytest.mark.parametrize("folder", ["models", "time_encoders"])
def test_the_members_are_the_files_of_the_folder(folder: str) -> None:
    files = {path.stem for path in (SOURCES / folder).glob("[a-z]*.py")}
    assert members(folder) == sorted(files)
    assert "tgat" in files or "linear" in files


@pytest.mark.parametrize(("folder", "contract"), [("models", LinkModel), ("time_encoders", TimeEncoder)])
def test_every_member_defines_a_public_class_of_the_contract(folder: str, contract: type) -> None:
    for name in members(folder):
        found = find(folder, name, contract)
        assert issubclass(found, contract)
        assert found.__module__ == f"chronolink.{folder}.{name}"
        assert not found.__name__.startswith("_")


@pytest.mark.parametrize("name", ["sine-cosine", "sine_cosine", "Sine-Cosine", "SINE_COSINE", " sine-cosine "])
def test_hyphens_underscores_and_capitals_in_names_are_the_same(name: str) -> None:
    assert plain(name) == "sine_cosine"
    assert find("time_encoders", name, TimeEncoder).__module__ == "chronolink.time_encoders.sine_cosine"


@pytest.mark.parametrize(
    ("folder", "name", "message"),
    [
        ("models", "tgta", "no model named 'tgta'; did you mean 'tgat'?"),
        ("models", "TGTA", "no model named 'TGTA'; did you mean 'tgat'?"),
        ("time_encoders", "sine_cosin", "no time encoder named 'sine_cosin'; did you mean 'sine-cosine'?"),
        ("time_encoders", "lineer", "no time encoder named 'lineer'; did you mean 'linear'?"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(folder: str, name: str, message: str) -> None:
    with pytest.raises(ChronolinkError) as raised:
        find(folder, name, object)
    assert str(raised.value) == message


def test_a_name_like_no_other_is_answered_with_all_of_them() -> None:
    with pytest.raises(ChronolinkError) as raised:
        find("time_encoders", "zzz", TimeEncoder)
    known = ", ".join(sorted(name.replace("_", "-") for name in members("time_encoders")))
    assert str(raised.value) == f"no time encoder named 'zzz'; there are: {known}"


@pytest.mark.parametrize("name", ["__init__", "", ".", "tgat.py", "../models/tgat"])
def test_what_is_no_member_is_not_found(name: str) -> None:
    with pytest.raises(ChronolinkError, match="no model named"):
        find("models", name, LinkModel)


def test_unknown_sorts_what_there_is() -> None:
    assert str(unknown("fruit", "zzz", ["pear", "apple"])) == "no fruit named 'zzz'; there are: apple, pear"


def test_a_new_file_is_a_new_member(write: Write) -> None:
    assert "constant_score" not in members("models")
    write("constant_score", NEW)
    assert "constant_score" in members("models")
    found = find("models", "Constant-Score", LinkModel)
    assert found.__name__ == "Constant"
    assert type(build("constant-score", random_graph(20, 5))) is found


def test_a_new_file_leaves_the_others_as_they_are(write: Write) -> None:
    write("constant_score", NEW)
    assert find("models", "tgat", LinkModel) is Tgat


def test_a_file_whose_name_begins_with_an_underscore_is_no_member(write: Write) -> None:
    write("_shared", NEW)
    assert "_shared" not in members("models")


def test_a_file_without_a_class_of_the_contract_is_the_developers_error(write: Write) -> None:
    write("nothing_here", "from chronolink.models.tgat import Tgat\n")
    with pytest.raises(TypeError, match=r"chronolink.models.nothing_here defines no LinkModel"):
        find("models", "nothing_here", LinkModel)
