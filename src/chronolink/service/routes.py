"""The addresses and what they answer"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import PlainTextResponse

from .. import predictor
from ..readers.times import shown
from . import asking
from .bodies import (
    MOST_LISTED,
    MOST_WEIGHED,
    About,
    Batch,
    Found,
    Health,
    Moment,
    Name,
    Observed,
    Pairs,
    Past,
    Ranking,
    Reasons,
    Refusal,
    Scores,
)
from .desk import Desk
from .metrics import Metrics
from .values import columns

REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Refusal, "description": "the key is missing or wrong"},
    404: {"model": Refusal, "description": "no node of that name"},
    413: {"model": Refusal, "description": "the body is too large"},
    422: {"model": Refusal, "description": "something in the question is wrong"},
    503: {"model": Refusal, "description": "too many are waiting, or the disk cannot be written"},
}
router = APIRouter(responses=REFUSALS)

Top = Annotated[int, Query(ge=1, le=MOST_LISTED)]
Weighed = Annotated[int, Query(ge=1, le=MOST_WEIGHED, description="latest events of each of the two")]
At = Annotated[Moment, Query(description="a number or an ISO date; just after the last event if left out")]
Candidates = Annotated[
    list[Name] | None, Query(max_length=MOST_LISTED, description="all, seen, or names; all if left out")
]


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


async def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


DeskHere = Annotated[Desk, Depends(_desk)]
MetricsHere = Annotated[Metrics, Depends(_metrics)]


@router.post("/events")
async def observe(batch: Batch, desk: DeskHere) -> Observed:
    """Takes events in; the answer comes when they are on the disk. If one is refused, none is taken in."""
    observed, known = await desk.observe(columns(batch.events, desk.needed))
    return Observed(observed=observed, events=known.events, last_time=known.last_time)


@router.post("/score")
async def score(asked: Pairs, desk: DeskHere, metrics: MetricsHere) -> Scores:
    """Score and probability of each pair."""
    scores = await desk.score(asked.pairs)
    metrics.scored += len(scores)
    return Scores(scores=scores)


@router.get("/rank", operation_id="rank_by_query")
@router.get("/rank/{node:path}", operation_id="rank")
async def rank(node: Name, desk: DeskHere, at: At = None, top: Top = 10, candidates: Candidates = None) -> Ranking:
    """The likeliest next partners of a node: among all that were a destination, those it has met, or the named."""
    return await desk.ask(partial(asking.ranking, node=node, at=at, top=top, among=_among(candidates)))


@router.get("/past", operation_id="past_by_query")
@router.get("/past/{node:path}", operation_id="past")
async def past(node: Name, desk: DeskHere, at: At = None, most: Top = 50) -> Past:
    """The latest events of a node strictly before a time."""
    return await desk.ask(partial(asking.past, node=node, at=at, most=most))


@router.get("/explain")
async def explain(source: Name, destination: Name, desk: DeskHere, at: At = None, most: Weighed = 20) -> Reasons:
    """What the score of a pair rests on, among the latest events of both."""
    return await desk.ask(partial(asking.reasons, source=source, destination=destination, at=at, most=most))


@router.get("/nodes")
async def nodes(desk: DeskHere, search: str = "", top: Top = 12) -> Found:
    """Names that begin with a text, then those that hold it; capitals play no part."""
    return await desk.ask(partial(asking.search, text=search, top=top))


@router.get("/about")
async def about(desk: DeskHere) -> About:
    """What run this is, and how far its events go."""
    settings, known = desk.predictor.settings, desk.known
    encoder = settings.get("time_encoder")
    return About(
        name=desk.predictor.name,
        model=settings["model"]["name"],
        time_encoder=encoder.get("name") if isinstance(encoder, dict) else encoder,
        columns=desk.columns,
        dated=desk.predictor.dated,
        events=known.events,
        nodes=known.nodes,
        last_time=known.last_time,
        last_shown=shown(known.last_time, desk.predictor.dated),
    )


@router.get("/health")
async def health() -> Health:
    """Whether the service runs, however much there is to score."""
    return Health(status="ok")


@router.get("/metrics", response_class=PlainTextResponse)
async def show_metrics(desk: DeskHere, metrics: MetricsHere) -> PlainTextResponse:
    """Counts in the text format of Prometheus."""
    text = metrics.text(desk.known.events, desk.known.nodes)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _among(candidates: list[str] | None) -> predictor.Candidates:
    """One word can be a keyword; a node that is called so is asked for twice."""
    if candidates is None or candidates == ["all"]:
        return "all"
    return "seen" if candidates == ["seen"] else candidates
