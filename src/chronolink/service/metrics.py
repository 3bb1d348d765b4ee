"""Counts for Prometheus, as plain text"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class Metrics:
    """What the service has done since it began; used by the event loop alone, so without a lock."""

    def __init__(self) -> None:
        self.scored = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()

    def count(self, route: str, status: int, seconds: float) -> None:
        self._requests[route, status] += 1
        place = sum(seconds > bound for bound in BOUNDS)
        self._within[route][place] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter adds floats, too

    def text(self, events: int, nodes: int) -> str:
        """In the text format 0.0.4 of Prometheus."""
        requests = {_labels(route=route, status=status): count for (route, status), count in self._requests.items()}
        lines = [
            *_family("requests_total", "counter", "Requests answered", requests),
            *_head("request_seconds", "histogram", "Seconds from request to answer"),
            *(line for route in self._within for line in self._histogram(route)),
            *_family("scored_pairs_total", "counter", "Pairs scored on request", {"": self.scored}),
            *_family("history_events", "gauge", "Events in the history", {"": events}),
            *_family("nodes", "gauge", "Nodes known", {"": nodes}),
        ]
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str) -> Iterable[str]:
        name, total = "chronolink_request_seconds", 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._within[route], strict=True):
            total += count
            yield f"{name}_bucket{_labels(route=route, le=bound)} {total}"
        yield f"{name}_sum{_labels(route=route)} {self._seconds[route]:.6f}"
        yield f"{name}_count{_labels(route=route)} {total}"


def _family(name: str, kind: str, help_text: str, values: Mapping[str, int]) -> list[str]:
    return [*_head(name, kind, help_text), *(f"chronolink_{name}{labels} {value}" for labels, value in values.items())]


def _head(name: str, kind: str, help_text: str) -> list[str]:
    return [f"# HELP chronolink_{name} {help_text}", f"# TYPE chronolink_{name} {kind}"]


def _labels(**labels: object) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
