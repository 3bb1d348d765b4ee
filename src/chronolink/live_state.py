"""Names, history and memory in one file"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from .errors import ChronolinkError
from .events import EventStream, TemporalGraph
from .files import write_whole
from .tensors import read_tensors

log = logging.getLogger("chronolink")
MODEL = "model."


@dataclass(frozen=True, slots=True)
class LiveState:
    """All that a run knows after what it observed, up to a place in its journal."""

    graph: TemporalGraph
    model: dict[str, Tensor]  # weights and memory
    journal: int  # bytes that are taken in

    def write(self, path: Path, data_digest: str) -> None:
        stream, graph = self.graph.events, self.graph
        tensors = {name: getattr(stream, name) for name in EventStream.__slots__}
        tensors |= {"node_features": graph.node_features, "edge_features": graph.edge_features}
        tensors |= {MODEL + name: value for name, value in self.model.items()}
        notes: dict[str, Any] = {"journal": self.journal, "names": graph.names, "nodes": graph.num_nodes}
        notes |= {"name": graph.name, "dated": graph.dated, "data_digest": data_digest}
        kept = {name: value.cpu().contiguous() for name, value in tensors.items()}
        write_whole(path, save(kept, {"state": json.dumps(notes)}))

    @classmethod
    def read(cls, path: Path, data_digest: str) -> LiveState | None:
        """None where there is none, or none that can be used: everything in it can be had from the journal."""
        if not path.exists():
            return None
        try:
            tensors, notes = read_tensors(path)
            state = json.loads(notes["state"])
        except (ChronolinkError, KeyError, ValueError) as error:
            log.warning("%s is left aside, as it cannot be read (%s)", path, error)
            return None
        return cls._of(tensors, state) if state["data_digest"] == data_digest else None

    @classmethod
    def _of(cls, tensors: dict[str, Tensor], state: dict[str, Any]) -> LiveState:
        graph = TemporalGraph(
            EventStream(*(tensors[name] for name in EventStream.__slots__)),
            state["nodes"],
            tensors["node_features"],
            tensors["edge_features"],
            names=None if state["names"] is None else tuple(state["names"]),
            name=state["name"],
            dated=state["dated"],
        )
        model = {name.removeprefix(MODEL): value for name, value in tensors.items() if name.startswith(MODEL)}
        return cls(graph, model, state["journal"])
