"""Attention over the times of events"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

from ..analysis.ages import AGES, by_age, quarters
from ..analysis.attention import AttentionScores, Bins, attention_scores, average
from ..figures.attention import draw
from ..job import Job
from ..run import RunFolder
from ..study import Findings, Scope, Study
from ..table import Cell, Row, Table
from ..tasks.link_prediction import LinkPrediction
from ._grid import paper_job

MODELS, ENCODERS, DATA = ("dygformer-separate", "dygdecoder"), ("cosine", "linear"), ("reddit",)
SIDES = ("source", "destination")
Trained = tuple[str, str]  # model and time encoder


class Attention(Study):
    """Where trained models look: attention scores over (t - t_q, t - t_k), for sources and for destinations."""

    title = "Attention over time"
    about = (
        "Mean attention score of the last layer over the time since the query's event and the time since the key's, on "
        "test events; of the first seed. DyGDecoder's last layer is drawn for every row, though only the last is read. "
        "The table has the asked event's attention to a past one, by its age: flat where it cannot tell ages apart."
    )

    def jobs(self, scope: Scope) -> list[Job]:
        return [job for data in scope.of_data(DATA) for job in _jobs(data, scope).values()]

    def findings(self, scope: Scope, out: Path) -> Findings:
        """Of the runs whose weights are at hand."""
        tables: list[Table] = []
        figures: dict[str, Figure] = {}
        for data in scope.of_data(DATA):
            done = {trained: job for trained, job in _jobs(data, scope).items() if _has_weights(job, out)}
            found = {trained: _scores(job, out) for trained, job in done.items()}
            if found:
                tables.append(_table(Path(data).stem, found, scope))
                figures |= _figures(Path(data).stem, found)
        return Findings(tuple(tables), figures)


def _jobs(data: str, scope: Scope) -> dict[Trained, Job]:
    return {
        (model, encoder): paper_job(data, model, encoder, "random", scope.of_seeds()[0], scope)
        for model in scope.of_models(MODELS)
        for encoder in scope.of_time_encoders(ENCODERS)
    }


def _has_weights(job: Job, out: Path) -> bool:
    return job.report(out) is not None and RunFolder(job.folder(out)).weights().exists()


def _scores(job: Job, out: Path) -> AttentionScores:
    folder = RunFolder(job.folder(out))
    model, graph, split = folder.open()
    folder.load_weights(model)
    task = LinkPrediction(graph, split)
    return attention_scores(model, task.history, task.part("test"))


def _table(data: str, found: dict[Trained, AttentionScores], scope: Scope) -> Table:
    edges = quarters(found.values())
    rows = tuple(
        Row((*trained, side), tuple(_cell(given) for given in by_age(_of(side, scores), edges)))
        for trained, scores in found.items()
        for side in SIDES
    )
    title = f"Attention to one event in {data}; the quarters end {', '.join(map(_age, edges))} before"
    heads, unit = ("model", "time encoder", "histories of"), scope.unit("mean score in %")
    return Table(f"attention-{data}", title, heads, AGES, rows, unit=unit, wins=False, across="age")


def _age(edge: float) -> str:
    return f"{edge:,.0f}" if edge >= 100 else f"{edge:.3g}"


def _cell(given: list[float]) -> Cell:
    """The mean over events of one run."""
    return Cell(100 * fmean(given), runs=1) if given else Cell()


def _of(side: str, scores: AttentionScores) -> AttentionScores:
    return scores[scores.source == (side == "source")]


def _figures(data: str, found: dict[Trained, AttentionScores]) -> dict[str, Figure]:
    figures = {}
    for side in SIDES:
        chosen = {f"{encoder} / {model}": _of(side, scores) for (model, encoder), scores in found.items()}
        bins = Bins.of(*chosen.values())
        panels = {name: average(scores, bins) for name, scores in chosen.items()}
        figures[f"attention-{data}-{side}"] = draw(panels, f"Attention in {data}: histories of {side}s")
    return figures
