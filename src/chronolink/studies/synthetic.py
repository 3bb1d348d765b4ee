"""The synthetic task: classifying event sequences"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from ..figures.synthetic import accuracies, attention
from ..job import Job
from ..jobs.event_sequences import EventSequencesJob
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table, ranked

ENCODERS, WIDTHS, SEEDS, EPOCHS = ("linear", "cosine", "sine-cosine"), (2, 4, 8, 16), range(1, 11), 500
SHAPES = tuple((layers, kind) for layers in (1, 2) for kind in ("full", "autoregressive"))
LOOKED_AT = (2, 8)  # widths whose attention is drawn

Reports = dict[tuple[int, str, str, int], list[dict[str, Any]]]  # by layers, attention, encoder and width


class Synthetic(Study):
    """Whether attention learns spans of time from linear encodings, where the answer is known."""

    title = "Event sequence classification"
    about = (
        "Test accuracy of small transformers on sequences whose label decays exponentially with the time since each "
        "event, ten runs a configuration, each on sequences of its own; the oracle knows the decay, not the noise."
    )

    def jobs(self, scope: Scope) -> list[Job]:
        return list(_jobs(scope).values())

    def findings(self, scope: Scope, out: Path) -> Findings:
        found = {key: job.report(out) for key, job in _jobs(scope).items()}
        reports: Reports = {key: report["runs"] for key, report in found.items() if report is not None}
        encoders = scope.of_time_encoders(ENCODERS)
        rows = [
            Row((_named(*shape), encoder), tuple(_cell(reports, shape, encoder, width) for width in WIDTHS))
            for shape in SHAPES
            for encoder in encoders
        ]
        heads, columns = ("transformer", "time encoder"), tuple(map(str, WIDTHS))
        table = Table("synthetic", self.title, heads, columns, tuple(rows), unit="accuracy in %", across="width")
        return Findings((ranked(table), *_oracle(reports)), _figures(reports, encoders))


def _jobs(scope: Scope) -> dict[tuple[int, str, str, int], Job]:
    seeds, epochs = scope.of_seeds(SEEDS), scope.epochs or EPOCHS
    return {
        (layers, kind, encoder, width): EventSequencesJob.of(kind, encoder, width, layers, seeds, epochs)
        for layers, kind in SHAPES
        for encoder in scope.of_time_encoders(ENCODERS)
        for width in WIDTHS
    }


def _named(layers: int, kind: str) -> str:
    return f"{layers} layer{'s' * (layers > 1)}, {kind}"


def _cell(reports: Reports, shape: tuple[int, str], encoder: str, width: int) -> Cell:
    runs = reports.get((*shape, encoder, width), [])
    return Cell.of([100 * run["test_accuracy"] for run in runs])


def _oracle(reports: Reports) -> tuple[Table, ...]:
    """The same sequences for every configuration, so one number."""
    if not reports:
        return ()
    known = Cell.of([100 * run["oracle_accuracy"] for run in next(iter(reports.values()))])
    row = Row(("the noiseless sum",), (known,))
    return (
        Table("synthetic-oracle", "The oracle", ("labels by",), ("accuracy",), (row,), "accuracy in %", wins=False),
    )


def _figures(reports: Reports, encoders: tuple[str, ...]) -> dict[str, Figure]:
    if not reports:
        return {}
    oracle = fmean(run["oracle_accuracy"] for run in next(iter(reports.values())))
    panels = {
        _named(*shape): {
            encoder: {
                width: [run["test_accuracy"] for run in reports[*shape, encoder, width]]
                for width in WIDTHS
                if (*shape, encoder, width) in reports
            }
            for encoder in encoders
            if any((*shape, encoder, width) in reports for width in WIDTHS)
        }
        for shape in SHAPES
    }
    figures = {"synthetic": accuracies(panels, oracle)}
    looked_at = {width: reports.get((1, "autoregressive", "linear", width)) for width in LOOKED_AT}
    learnt = {f"$d_T$ = {width}": _mean(runs, "learnt") for width, runs in looked_at.items() if runs}
    true = next((_mean(runs, "true") for runs in looked_at.values() if runs), None)
    return figures | ({"synthetic-attention": attention(learnt, true)} if true else {})


def _mean(runs: list[dict[str, Any]], which: str) -> list[float]:
    """Over the runs, an event."""
    return [fmean(shares) for shares in zip(*(run["mean_attention"][which] for run in runs), strict=True)]
