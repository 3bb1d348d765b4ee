"""What is asked and answered over HTTP"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .values import as_cell, as_moment, as_name, as_time, moments

MOST_EVENTS = 10_000
MOST_PAIRS = 10_000
MOST_LISTED = 1_000  # candidates by name, names found, rows of an answer
MOST_WEIGHED = 100  # events of a node in an explanation: each is a question of its own

Name = Annotated[str, BeforeValidator(as_name, json_schema_input_type=str | int)]
Moment = Annotated[float | None, BeforeValidator(as_moment, json_schema_input_type=float | str | None)]
Time = Annotated[float | str | None, BeforeValidator(as_time, json_schema_input_type=float | str | None)]
Cell = Annotated[str | int | float | None, BeforeValidator(as_cell)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Pair(_Body):
    """Does this source meet this destination at this time (just after the last event if left out)?"""

    source: Name
    destination: Name
    at: Time = None


class Pairs(_Body):
    pairs: list[Pair] = Field(min_length=1, max_length=MOST_PAIRS)

    @model_validator(mode="after")
    def _read_dates(self) -> Pairs:
        for pair, at in zip(self.pairs, moments("pairs", [pair.at for pair in self.pairs]), strict=True):
            pair.at = at
        return self


class Batch(_Body):
    """Events as rows, with columns named as in the run's log (`GET /about` lists them), none older than the last."""

    events: list[dict[str, Cell]] = Field(min_length=1, max_length=MOST_EVENTS)


class Observed(_Body):
    observed: int
    events: int  # in the history now
    last_time: float


class Likelihood(_Body):
    score: float
    probability: float
    at: float


class Scores(_Body):
    """One a pair, in the order of the pairs."""

    scores: list[Likelihood]


class Candidate(_Body):
    name: str
    probability: float
    score: float
    last_met: float | None
    last_met_shown: str | None


class Ranking(_Body):
    """Best first."""

    node: str
    at: float
    at_shown: str
    ranked: list[Candidate]


class Event(_Body):
    source: str
    destination: str
    time: float
    shown: str


class Past(_Body):
    """Events strictly before, oldest first."""

    node: str
    at: float
    at_shown: str
    events: list[Event]


class WeighedEvent(Event):
    weight: float


class Reasons(_Body):
    """A score, and what it loses when one event alone is left out; weightiest first."""

    source: str
    destination: str
    at: float
    at_shown: str
    score: float
    probability: float
    events: list[WeighedEvent]


class About(_Body):
    name: str
    model: str
    time_encoder: str | None
    columns: list[str]  # of an event in POST /events
    dated: bool  # times are seconds since 1970, shown as dates in UTC
    events: int
    nodes: int
    last_time: float
    last_shown: str


class Found(_Body):
    nodes: list[str]


class Health(_Body):
    status: str


class Refusal(_Body):
    detail: str
