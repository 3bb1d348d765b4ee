"""A trained model with its living history"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import torch
from torch import Tensor

from .answers import Contribution, Explanation, PastEvent, Ranked, Scored
from .candidates import Arrivals, Asking
from .errors import ChronolinkError, at_least_one
from .events import EventStream, TemporalGraph
from .files import read_json
from .growing import GrowingHistory
from .journal import Journal
from .live_state import LiveState
from .model import LinkModel
from .names import Names
from .negatives import BLOCK
from .new_events import Layout, NewEvents
from .query import LinkQuery
from .readers.times import moment, shown
from .run import RunFolder, build_from

Candidates = Literal["all", "seen"] | Sequence[str]


class Predictor:
    """Answers questions about the next links of a run's nodes, by name, and takes new events in.

    What is observed is written to the run's journal before it counts, so it is there when the run is opened again. A
    score depends on what happened strictly before the asked time; a model with a memory is ahead of its past and can be
    asked from its last event on alone. One thread at a time.
    """

    def __init__(self, run: Path | str) -> None:
        self.folder = RunFolder(run)
        self.settings = self.folder.settings()
        self._live = self.folder.path / "live"
        self._journal = Journal(self._live / "journal")
        self._digest: str = read_json(self.folder.split)["data_digest"]
        graph = self._restore(LiveState.read(self._live / "state.safetensors", self._digest))
        self.name, self.dated = graph.name, graph.dated
        self._layout = Layout.of(self.settings, graph.edge_features.shape[1], graph.dated)
        self._calibration = self.folder.calibration()
        self.catch_up()

    def _restore(self, state: LiveState | None) -> TemporalGraph:
        """The model and the history, from what was saved or as training left them."""
        if state is not None:
            graph, self._journal.end = state.graph, state.journal
            self.model: LinkModel = build_from(self.settings, graph).eval()
            self.model.load_state_dict(state.model)
        else:
            self.model, graph, _ = self.folder.open()
            self.folder.load_weights(self.model.eval())
            self.model.reset()
        self.history = GrowingHistory(graph)
        self._asking = Asking(self.model, self.history)
        self.names = Names(graph.names or map(str, range(graph.num_nodes)))
        self._arrivals = Arrivals()
        self._arrivals.note(graph.events)
        if state is None:
            self._remember(graph.events)
        return graph

    @property
    def size(self) -> int:
        """Events so far."""
        return self.history.size

    @property
    def last_time(self) -> float:
        return float(self.history.time[-1])

    def observe(self, events: Any) -> int:
        """Takes new events in, durably; tells how many.

        They come as a path, a frame, an Arrow table or `{column: values}`, with columns named as in the run's log. None
        may be older than the last event; if one is, nothing is taken in.
        """
        new = self._layout.read(events)
        if self._journal.lock():
            self.catch_up()
        if float(new.time[0]) < self.last_time:
            raise ChronolinkError(
                f"an event at {shown(float(new.time[0]), self.dated)} is older than the last one at "
                f"{shown(self.last_time, self.dated)}; leave it out, as the past is settled"
            )
        self._journal.append(new.as_bytes())
        self._apply(new)
        return len(new)

    def catch_up(self) -> None:
        """Takes in what others appended; only a memory minds in which batches it came."""
        records = (NewEvents.from_bytes(record, self._layout.width) for record in self._journal.unread())
        for new in records if self.model.remembers else NewEvents.joined(records):
            self._apply(new)

    def score(
        self, source: Sequence[str], destination: Sequence[str], at: Sequence[float] | float | str | None = None
    ) -> Scored:
        """Of pairs at one time, a number or a date, or each at its own; just after the last event if none is given."""
        if len(source) != len(destination):
            raise ChronolinkError(f"{len(source)} sources and {len(destination)} destinations; give pairs")
        times = torch.as_tensor(self._asked(at) if at is None or isinstance(at, str) else at, dtype=torch.float64)
        if times.dim() and len(times) != len(source):
            raise ChronolinkError(f"{len(source)} pairs and {len(times)} times; give one time a pair, or one for all")
        return self._scored(self._ask(self.names.find(source), self.names.find(destination), times))

    def rank(
        self, node: str, at: float | str | None = None, top: int = 10, candidates: Candidates = "all"
    ) -> list[Ranked]:
        """The likeliest next partners of a node, best first.

        Candidates are all nodes that were a destination before (the node itself if it met itself), those that the node
        has met, or the ones that are named.
        """
        at_least_one(top=top)
        time, source = self._asked(at), self.names.find([node])
        chosen = self._candidates(source, time, candidates)
        self._check(torch.tensor([time], dtype=torch.float64))
        scores = self._asking.among(source, chosen, time)
        best = torch.argsort(scores, descending=True, stable=True)[:top]
        found, likely = self._scored(scores[best]), chosen[best]
        met = self._last_met(source.expand(len(likely)), likely, time)
        rows = zip(likely.tolist(), found.probability.tolist(), found.score.tolist(), met.tolist(), strict=True)
        return [Ranked(self.names.known[n], p, s, t if math.isfinite(t) else None) for n, p, s, t in rows]

    def past(self, node: str, at: float | str | None = None, most: int = 50) -> list[PastEvent]:
        """The latest events of a node strictly before a time, oldest first."""
        return [self._event(position) for position in self._positions(node, self._asked(at), most)]

    def explain(self, source: str, destination: str, at: float | str | None = None, most: int = 20) -> Explanation:
        """What the score rests on: each of both nodes' latest events, and what the score loses without it.

        This is exact for every model, one event at a time. A model's own memory stays as it is, so for a model with a
        memory the weights tell what the events bring beside it.
        """
        time = self._asked(at)
        ends = self.names.find([source]), self.names.find([destination]), torch.tensor(time, dtype=torch.float64)
        whole = self._ask(*ends)
        positions = {p for node in (source, destination) for p in self._positions(node, time, most)}
        weights = []
        for position in sorted(positions):
            with self.history.without(position):
                weights.append((float(whole - self._ask(*ends)), self._event(position)))
        weights.sort(key=lambda pair: -abs(pair[0]))
        found = self._scored(whole)
        events = [Contribution(e.source, e.destination, e.time, weight) for weight, e in weights]
        return Explanation(source, destination, time, float(found.score[0]), float(found.probability[0]), events)

    def save(self) -> None:
        """Keeps all that is known in one file, so that opening the run again takes no replay."""
        self._live.mkdir(exist_ok=True)
        names = None if self.names.known == [str(node) for node in range(len(self.names))] else tuple(self.names.known)
        graph = replace(self.history.graph, names=names, name=self.name, dated=self.dated)
        LiveState(graph, self.model.state_dict(), self._journal.end).write(
            self._live / "state.safetensors", self._digest
        )

    def close(self) -> None:
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _apply(self, new: NewEvents) -> None:
        source, destination = self.names.welcome(new.source), self.names.welcome(new.destination)
        self.history.welcome(len(self.names))
        self.model.welcome(len(self.names))
        events = self.history.append(source, destination, new.time, new.edge_features)
        self._arrivals.note(events)
        self._remember(events)

    def _remember(self, events: EventStream) -> None:
        for start in range(0, len(events), BLOCK):
            self.model.observe(events[start : start + BLOCK], self.history)

    def _asked(self, at: float | str | None) -> float:
        if isinstance(at, str):
            return moment(at)
        return math.nextafter(self.last_time, math.inf) if at is None else at

    def _candidates(self, source: Tensor, time: float, candidates: Candidates) -> Tensor:
        if not isinstance(candidates, str):
            return self.names.find(candidates)
        partners = self._partners(source, time)
        if candidates == "seen":
            return partners
        if candidates != "all":
            raise ChronolinkError(f"candidates '{candidates}' are unknown; give all, seen or names")
        arrived = self._arrivals.before(time)
        return arrived[(arrived != source) | bool((partners == source).any())]

    def _partners(self, node: Tensor, time: float) -> Tensor:
        """Distinct nodes that a node met before a time, in either role."""
        both_ends, _, _ = self.history.events_at(self.history.positions(node, time))
        others: Tensor = torch.unique(both_ends - node)
        return others

    def _last_met(self, one: Tensor, other: Tensor, time: float) -> Tensor:
        """When they met last, whoever turned to whom; -inf if never."""
        moments = torch.full((len(one),), time, dtype=torch.float64)
        meetings = (self.history.last_meeting(*pair, moments) for pair in ((one, other), (other, one)))
        return torch.maximum(*meetings)

    def _positions(self, node: str, time: float, most: int) -> list[int]:
        at_least_one(most=most)
        return self.history.positions(self.names.find([node]), time)[-most:].tolist()

    def _event(self, position: int) -> PastEvent:
        source, destination, time = self.history.event(position)
        return PastEvent(self.names.known[source], self.names.known[destination], time)

    def _ask(self, source: Tensor, destination: Tensor, time: Tensor) -> Tensor:
        query = LinkQuery(source, destination, time.expand(len(source)))
        self._check(query.time)
        return self._asking.pairs(query)

    def _check(self, time: Tensor) -> None:
        """Refuses what is no time, and a time that a memory has gone past."""
        if not bool(time.isfinite().all()):
            raise ChronolinkError("an asked time is infinite or not a number; ask at a time")
        if self.model.remembers and len(time) and float(time.min()) < self.last_time:
            raise ChronolinkError(
                f"{shown(float(time.min()), self.dated)} lies before the last event at "
                f"{shown(self.last_time, self.dated)}; a model with a memory is asked about what comes next"
            )

    def _scored(self, scores: Tensor) -> Scored:
        double = scores.double().numpy()
        return Scored(double, self._calibration.probability(double))


def open_run(run: Path | str) -> Predictor:
    """A finished run, ready to answer, with all that it observed since."""
    return Predictor(run)
