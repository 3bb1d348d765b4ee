"""The paper's tables, ours beside theirs"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from chronolink.paper import DATA, tables

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
OURS = {"sinusoidal": "cosine", "sinusoidal-scale": "cosine-scaled"}  # the paper's word: ours
PUBLISHED = {  # by study: the paper's table
    "random-negatives": "test_ap_random_ns",
    "historical-negatives": "test_ap_historical_ns",
    "cosine-or-sine-cosine": "cosine_vs_sine_cosine_test_ap_random_ns",
    "time-or-position": "time_vs_position_test_ap_random_ns",
    "tgn-cawn": "tgn_cawn_test_ap_random_ns",
    "node-classification": "node_classification_test_auroc",
    "cost-seconds": "training_seconds_per_epoch_on_paper_gpu",
    "cost-memory": "peak_gpu_memory_gb",
}
FOLDERS = {"cost-seconds": "cost", "cost-memory": "cost"}  # where it is not the study's name
RULES = "nothing learnt"  # what the studies call the model of a rule
DASH = "\N{EN DASH}"  # nothing measured
Key = tuple[str, str, str]  # model, row and data set, in our words


def beside(study: str) -> list[str]:
    """The lines of a Markdown table: a row a model and encoder of the paper, and one of ours where there is any."""
    theirs, ours = tables()[PUBLISHED[study]], measured(study)
    data = [name for name in DATA if any(name in row for rows in theirs.values() for row in rows.values())]
    lines = [_line(["model", "time encoder", "whose", *data]), _line(["---"] * 3 + ["---:"] * len(data))]
    for model, rows in theirs.items():
        for row, cells in rows.items():
            name = OURS.get(row, row)
            found = [ours.get((model.lower(), name, column), DASH) for column in data]
            lines.append(_line([model, name, "paper", *(_written(cells.get(column)) for column in data)]))
            if set(found) != {DASH}:
                lines.append(_line(["", "", "**ours**", *(f"**{cell}**" for cell in found)]))
    for rule in dict.fromkeys(row for model, row, _ in ours if model == RULES):
        found = [ours.get((RULES, rule, column), DASH) for column in data]
        lines.append(_line([RULES, rule, "**ours**", *(f"**{cell}**" for cell in found)]))
    return [*lines, "", _count(theirs, ours)]


def measured(study: str) -> dict[Key, str]:
    """What the experiments of this repository say."""
    path, found = EXPERIMENTS / "paper" / FOLDERS.get(study, study) / "results.csv", {}
    for record in csv.DictReader(path.read_text().splitlines() if path.exists() else []):
        if record["table"] == study and record["mean"]:
            row = record.get("time_encoder") or record.get("encoded") or ""
            found[record["model"], row, record["column"]] = _of_runs(record)
    return found


def _of_runs(record: dict[str, str]) -> str:
    spread = f" ± {float(record['deviation']):.2f}" if record["deviation"] else ""
    return f"{float(record['mean']):.2f}{spread} ({record['runs']})"


def _written(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell['mean']:.2f} ± {cell['std']:.2f}" if isinstance(cell, dict) else f"{cell:g}"


def _count(theirs: dict[str, Any], ours: dict[Key, str]) -> str:
    cells = [
        (model.lower(), OURS.get(row, row), data)
        for model, rows in theirs.items()
        for row, found in rows.items()
        for data in found
    ]
    done = sum(cell in ours for cell in cells)
    runs = "; in brackets, how many runs" if done else ""
    return f"{len(cells)} cells, {done or 'none'} of them measured here so far{runs}."


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


class PaperTable(SphinxDirective):
    """The table of a study, by the study's name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        study = self.arguments[0]
        folder = EXPERIMENTS / "paper" / FOLDERS.get(study, study)
        self.env.note_dependency(str(folder / "results.csv"))
        found = nodes.container()
        self.state.nested_parse(StringList(beside(study), source=study), self.content_offset, found)
        return found.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("paper-table", PaperTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
