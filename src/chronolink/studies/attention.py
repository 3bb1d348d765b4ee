"""Attention over the times of events"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from ..analysis.attention import AttentionScores, Bins, attention_scores, average
from ..figures.attention import draw
from ..job import Job
from ..run import RunFolder
from ..study import Findings, Scope, Study
from ..tasks.link_prediction import LinkPrediction
from ._grid import paper_job

MODELS, ENCODERS, DATA = ("dygformer-separate", "dygdecoder"), ("cosine", "linear"), ("reddit",)


class Attention(Study):
    """Where trained models look: attention scores over (t - t_q, t - t_k), for sources and for destinations."""

    title = "Attention over time"
    about = (
        "Mean attention score of the last layer over the time since the query's event and the time since the key's, on "
        "test events; of the first seed. DyGDecoder's last layer is drawn for every row, though only the last is read."
    )

    def jobs(self, scope: Scope) -> list[Job]:
        return [job for data in scope.of_data(DATA) for job in _jobs(data, scope).values()]

    def findings(self, scope: Scope, out: Path) -> Findings:
        """Figures of the runs whose weights are at hand."""
        figures: dict[str, Figure] = {}
        for data in scope.of_data(DATA):
            done = {name: job for name, job in _jobs(data, scope).items() if _has_weights(job, out)}
            figures |= _figures(Path(data).stem, {name: _scores(job, out) for name, job in done.items()})
        return Findings((), figures)


def _jobs(data: str, scope: Scope) -> dict[str, Job]:
    return {
        f"{encoder} / {model}": paper_job(data, model, encoder, "random", scope.of_seeds()[0], scope)
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


def _figures(data: str, found: dict[str, AttentionScores]) -> dict[str, Figure]:
    figures = {}
    for side in ("source", "destination") if found else ():
        chosen = {name: scores[scores.source == (side == "source")] for name, scores in found.items()}
        bins = Bins.of(*chosen.values())
        panels = {name: average(scores, bins) for name, scores in chosen.items()}
        figures[f"attention-{data}-{side}"] = draw(panels, f"Attention in {data}: histories of {side}s")
    return figures
