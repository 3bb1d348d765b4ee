"""Small streams that the tests share"""

from __future__ import annotations

import torch

from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.model import LinkModel


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
