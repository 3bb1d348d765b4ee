"""Small streams that the tests share"""

from __future__ import annotations

import torch

from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.model import LinkModel
from chronolink.query import LinkQuery


def random_graph(
    events: int = 300,
    nodes: int = 20,
    node_width: int = 0,
    edge_width: int = 0,
    span: float = 1e6,
    origin: float = 1.6e9,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> TemporalGraph:
    """Random events with ties, repeats and self-loops."""
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(nodes, (2, events), generator=generator)
    time = (torch.rand(events, generator=generator, dtype=torch.float64) * span).round() + origin
    time[::7] = time[0]
    stream = EventStream.sorted(ends[0], ends[1], time)
    return TemporalGraph(
        stream,
        nodes,
        torch.randn(nodes, node_width, generator=generator, dtype=dtype),
        torch.randn(events, edge_width, generator=generator, dtype=dtype),
    )


def unsettled(model: LinkModel, graph: TemporalGraph) -> LinkModel:
    """Prepared, in double precision, with biases and norms that are not at their start values."""
    model = model.double()
    model.prepare(graph.events, History(graph))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model


def questions(graph: TemporalGraph, count: int = 12) -> LinkQuery:
    """Early, late and repeated ones, nodes without a past, and a self-loop."""
    generator = torch.Generator().manual_seed(1)
    ends = torch.randint(graph.num_nodes, (2, count), generator=generator)
    time = graph.events.time[torch.randint(len(graph.events), (count,), generator=generator)]
    time[0], time[1] = graph.events.time[0] - 1, graph.events.time[60]
    ends[1, 2] = ends[0, 2]
    return LinkQuery(ends[0], ends[1], time) + LinkQuery(ends[0], ends[1].flip(0), time)
