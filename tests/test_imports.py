"""Data flows one way: the import graph of the design"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import chronolink

ROOT = Path(chronolink.__file__).parent

FORBIDDEN = {  # a file or folder, and what it must not know
    "events": ("history", "model", "models", "training", "tasks", "commands", "figures"),
    "history": ("model", "models", "training", "tasks", "commands", "negatives", "split"),
    "read": ("model", "models", "training", "tasks", "commands", "history"),
    "readers": ("model", "models", "training", "tasks", "commands", "history"),
    "dataset": ("model", "models", "training", "tasks", "commands", "history"),
    "datasets": ("model", "models", "training", "tasks", "commands", "history"),
    "time_encoder": ("model", "models", "training", "tasks", "commands"),
    "time_encoders": ("model", "models", "training", "tasks", "commands"),
    "layers": ("model", "models", "training", "tasks", "commands", "dataset"),
    "model": ("models", "training", "tasks", "commands", "metrics", "dataset"),
    "models": ("training", "tasks", "commands", "metrics", "dataset", "report", "run"),
    "tasks": ("models", "training", "commands", "figures"),
    "metrics": ("models", "model", "training", "tasks", "commands", "history"),
    "training": ("models", "commands", "figures"),
    "analysis": ("models", "training", "commands", "figures"),
    "figures": ("torch", "models", "model", "training", "tasks", "commands", "events", "history"),
}


def imports(path: Path) -> set[str]:
    """The first name below chronolink of each import, and the other packages' names."""
    package = path.relative_to(ROOT).parts[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else None
            module = tuple((node.module or "").split(".")) if node.module else ()
            if above is None:
                found.add(module[0])
            else:
                whole = (*above, *module)
                found |= {whole[0]} if whole else {alias.name for alias in node.names}
    return found


def files(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py")) if (ROOT / part).is_dir() else [ROOT / f"{part}.py"]


@pytest.mark.parametrize("part", FORBIDDEN)
def test_no_part_knows_what_comes_after_it(part: str) -> None:
    for path in files(part):
        assert not imports(path) & set(FORBIDDEN[part]), path


def test_the_reader_of_imports_sees_them() -> None:
    assert {"history", "layers", "torch", "model"} <= imports(ROOT / "models" / "tgat.py")
    assert {"build", "training"} <= imports(ROOT / "__init__.py")


@pytest.mark.parametrize("command", ["rank", "predict", "observe", "explain", "serve"])
def test_a_command_waits_for_no_package_that_it_does_not_need(command: str) -> None:
    heavy = {"sklearn", "scipy", "pandas", "matplotlib", "optuna", "ray", "tensorboard"}
    found = f"import sys, chronolink.commands.{command}; print(*({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", found], text=True).split() == []


def test_nothing_asks_for_the_name_of_a_model() -> None:
    names = [f'"{path.stem}"' for path in (ROOT / "models").glob("[a-z]*.py")]
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                compared = {f'"{part.value}"' for part in ast.walk(node) if isinstance(part, ast.Constant)}
                assert not compared & set(names), f"{path}:{node.lineno}"
