"""Several processes give what one gives"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OPTIONS = [
    *("--model.width", "8", "--model.neighbours", "4", "--time-encoder.width", "4", "--model.dropout", "0.3"),
    *("--epochs", "3", "--batch-size", "101", "--learning-rate", "0.001"),
]


def train(events: Path, out: Path, processes: int) -> Any:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)] if processes > 1 else []
    command = [sys.executable, *launcher, "-m", "chronolink", "train", str(events), *OPTIONS, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "report.json").read_text())


def test_two_processes_give_the_result_of_one_to_rounding(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    rows = [f"{i * 7 % 20},{20 + (i * 7 + i * i % 3) % 20},{60 * i}" for i in range(1458)]
    events.write_text("\n".join(["source,destination,time", *rows]))
    one, two = train(events, tmp_path / "one", 1), train(events, tmp_path / "two", 2)
    assert (one["cost"]["processes"], two["cost"]["processes"]) == (1, 2)
    for alone, shared in zip(one["epochs"], two["epochs"], strict=True):
        assert shared["loss"] == pytest.approx(alone["loss"], abs=1e-5)
        assert shared["validation"]["random"]["ap"] == pytest.approx(alone["validation"]["random"]["ap"], abs=1e-4)
    for negatives in ("random", "historical", "inductive"):
        assert two["test"][negatives]["ap"] == pytest.approx(one["test"][negatives]["ap"], abs=1e-4)
