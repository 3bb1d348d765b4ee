"""The predictor's answers as bodies"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

from ..answers import Contribution, PastEvent, Ranked
from ..predictor import Candidates, Predictor
from ..readers.times import shown
from .bodies import Candidate, Event, Found, Likelihood, Pair, Past, Ranking, Reasons, WeighedEvent
from .refusals import UnknownNodeError


def likelihoods(predictor: Predictor, pairs: Sequence[Pair]) -> list[Likelihood]:
    """Of each pair at its own time."""
    at = [_asked(predictor, None if pair.at is None else float(pair.at)) for pair in pairs]
    source, destination = [pair.source for pair in pairs], [pair.destination for pair in pairs]
    _know(predictor, *source, *destination)
    found = predictor.score(source, destination, at)
    rows = zip(found.score.tolist(), found.probability.tolist(), at, strict=True)
    return [Likelihood(score=score, probability=probability, at=time) for score, probability, time in rows]


def ranking(predictor: Predictor, node: str, at: float | None, top: int, among: Candidates) -> Ranking:
    _know(predictor, node, *(() if isinstance(among, str) else among))
    time = _asked(predictor, at)
    rows = [_candidate(predictor, found) for found in predictor.rank(node, time, top, among)]
    return Ranking(node=node, at=time, at_shown=shown(time, predictor.dated), ranked=rows)


def past(predictor: Predictor, node: str, at: float | None, most: int) -> Past:
    _know(predictor, node)
    time = _asked(predictor, at)
    events = [Event(**_event(predictor, event)) for event in predictor.past(node, time, most)]
    return Past(node=node, at=time, at_shown=shown(time, predictor.dated), events=events)


def reasons(predictor: Predictor, source: str, destination: str, at: float | None, most: int) -> Reasons:
    _know(predictor, source, destination)
    found = predictor.explain(source, destination, _asked(predictor, at), most)
    return Reasons(
        source=source,
        destination=destination,
        at=found.at,
        at_shown=shown(found.at, predictor.dated),
        score=found.score,
        probability=found.probability,
        events=[WeighedEvent(**_event(predictor, event), weight=event.weight) for event in found.events],
    )


def search(predictor: Predictor, text: str, top: int) -> Found:
    """Names that begin with the text, then those that hold it elsewhere, each once."""
    names, wanted = predictor.names.known, text.strip().casefold()
    begin = (name for name in names if name.casefold().startswith(wanted))
    within = (name for name in names if wanted in name.casefold())
    return Found(nodes=list(islice(dict.fromkeys(chain(islice(begin, top), islice(within, 2 * top))), top)))


def _asked(predictor: Predictor, at: float | None) -> float:
    """Just after the last event if no time is asked for."""
    return math.nextafter(predictor.last_time, math.inf) if at is None else at


def _know(predictor: Predictor, *names: str) -> None:
    """Refuses the first name that is no node's."""
    for name in names:
        if name not in predictor.names:
            raise UnknownNodeError(str(predictor.names.unknown(name)))


def _candidate(predictor: Predictor, found: Ranked) -> Candidate:
    met = None if found.last_met is None else shown(found.last_met, predictor.dated)
    return Candidate(
        name=found.name,
        probability=found.probability,
        score=found.score,
        last_met=found.last_met,
        last_met_shown=met,
    )


def _event(predictor: Predictor, event: PastEvent | Contribution) -> dict[str, Any]:
    time = {"time": event.time, "shown": shown(event.time, predictor.dated)}
    return {"source": event.source, "destination": event.destination, **time}
