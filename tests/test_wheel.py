"""What is built installs and works without the source"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DATA = {"uci", "enron", "uslegis", "canparl", "wikipedia-edges", "lastfm-first"}

pytestmark = pytest.mark.xdist_group("wheel")  # built and installed once


def succeed(*command: str | Path, folder: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from the sdist's own files."""
    folder = tmp_path_factory.mktemp("built")
    succeed(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, folder=ROOT)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    unpacked = next(path for path in folder.iterdir() if path.is_dir())
    succeed(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=unpacked)
    return folder


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment with the wheel; what the wheel needs is lent by the environment of the tests."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index")
    succeed(*pip, next(built.glob("*.whl")), folder=home)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    lent = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (packages / "lent.pth").write_text("\n".join(lent) + "\n")
    return python.parent


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(built: Path) -> None:
    names = zipfile.ZipFile(next(built.glob("*.whl"))).namelist()
    metadata = next(name for name in names if "dist-info" in name).split("/")[0]
    assert {name.split("/")[0] for name in names} == {"chronolink", metadata}
    assert {Path(name).stem for name in names if name.endswith(".parquet")} == DATA
    files = [path for path in (ROOT / "src").rglob("*.*") if path.suffix != ".pyc"]
    assert {path.relative_to(ROOT / "src").as_posix() for path in files} <= set(names)


def test_the_sdist_holds_the_source_and_no_leavings(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {"src", "tests", "docs", "examples", "README.md", "LICENSE", "CITATION.cff", "pyproject.toml"} <= names
    assert {name for name in names if name.startswith(".")} <= {".ci", ".gitignore", ".pre-commit-config.yaml"}


def test_it_is_the_wheel_that_is_imported_and_it_finds_its_data(programs: Path, tmp_path: Path) -> None:
    code = "import chronolink; print(chronolink.__file__, len(chronolink.load('uci').events))"
    place, events = succeed(programs / "python", "-c", code, folder=tmp_path).split()
    assert Path(place).is_relative_to(programs.parent)
    assert events == "59835"


def test_the_demo_runs_from_the_wheel(programs: Path, tmp_path: Path) -> None:
    log = "source,destination,time\n" + "".join(f"{i % 7},{(i + 1 + i % 3) % 7},{i}\n" for i in range(300))
    (tmp_path / "log.csv").write_text(log)
    shown = succeed(programs / "chronolink", "demo", "log.csv", "--epochs", "1", "--out", "demo", folder=tmp_path)
    assert "links that come next" in shown
    runs = {path.parent.name for path in tmp_path.glob("demo/*/report.json")}
    assert runs == {"edgebank", "recency", "tgat-cosine", "tgat-linear"}


def test_the_citation_can_be_read() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == version("chronolink")
    authors = [author["family-names"] for author in citation["references"][0]["authors"]]
    assert authors == ["Chung", "Chaudhari", "Han", "Wald", "Saria", "Ghosh"]
