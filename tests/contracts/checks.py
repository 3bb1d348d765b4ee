"""What every model must keep, as checks that raise AssertionError"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from chronolink import Training, fit
from chronolink.events import EventStream, TemporalGraph
from chronolink.history import History
from chronolink.model import LinkModel
from chronolink.query import LinkQuery

Make = Callable[[TemporalGraph, int], LinkModel]  # (graph, seed) -> a model with its first weights

CLOSE = {"rtol": 0.0, "atol": 2e-5}


def ready(make: Make, graph: TemporalGraph, seed: int = 1) -> LinkModel:
    """Prepared on the first half of the stream."""
    train = graph.events[: len(graph.events) // 2]
    model = make(graph, seed).eval()
    model.prepare(train, History(graph.cut(train)))
    return model


def answers(model: LinkModel, graph: TemporalGraph, query: LinkQuery) -> Tensor:
    """Scores of questions at one time, after the model has observed all that lies before it."""
    model.reset()
    model.observe(graph.events[graph.events.time < query.time.min()], History(graph))
    with torch.no_grad():
        return model(query, History(graph))


def questions(graph: TemporalGraph, share: float = 0.6) -> LinkQuery:
    """All pairs of some nodes at the time of an event within the stream: links that happen then among them."""
    moment = graph.events.time[int(share * len(graph.events))]
    nodes = torch.arange(min(graph.num_nodes, 8))
    pairs = torch.cartesian_prod(nodes, nodes)
    return LinkQuery(pairs[:, 0].contiguous(), pairs[:, 1].contiguous(), moment.expand(len(pairs)).clone())


def the_future_is_invisible(make: Make, graph: TemporalGraph) -> None:
    query = questions(graph)
    model = ready(make, graph)
    torch.testing.assert_close(
        answers(model, graph, query), answers(model, scrambled(graph, float(query.time[0])), query), **CLOSE
    )


def scrambled(graph: TemporalGraph, moment: float) -> TemporalGraph:
    """The same until just before the moment; then other links, other times, other features, and fewer events."""
    stream, generator = graph.events, torch.Generator().manual_seed(9)
    first = int((stream.time < moment).sum())
    late = len(stream) - first - 5
    ends = torch.randint(graph.num_nodes, (2, late), generator=generator)
    time = moment + (torch.rand(late, generator=generator, dtype=torch.float64) * 1e5).round().sort().values
    time[: late // 3] = moment
    events = EventStream(
        torch.cat([stream.source[:first], ends[0]]),
        torch.cat([stream.destination[:first], ends[1]]),
        torch.cat([stream.time[:first], time]),
        stream.id[: first + late],
    )
    features = graph.edge_features.clone()
    features[stream.id[first:]] += 100.0
    return replace(graph, events=events, edge_features=features)


def asking_changes_nothing(make: Make, graph: TemporalGraph) -> None:
    model, query, history = ready(make, graph), questions(graph), History(graph)
    model.observe(graph.events[:100], history)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        first = model(query, history)
        model(questions(graph, 0.9), history)
        again = model(query, history)
    assert torch.equal(first, again)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def a_question_is_answered_the_same_in_any_batch(make: Make, graph: TemporalGraph) -> None:
    model, history = ready(make, graph), History(graph)
    query = questions(graph) + questions(graph, 0.2) + questions(graph, 0.95)
    order = torch.randperm(len(query), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        together = model(query, history)
        shuffled = model(query[order], history)
        alone = torch.cat([model(query[place : place + 1], history) for place in range(0, len(query), 17)])
    torch.testing.assert_close(together[::17], alone, **CLOSE)
    torch.testing.assert_close(together[order], shuffled, **CLOSE)


def the_clock_has_no_origin(make: Make, graph: TemporalGraph) -> None:
    query = questions(graph)
    found = []
    for shift in (0.0, 1.6e9, -3e9):
        later = replace(graph, events=replace(graph.events, time=graph.events.time + shift))
        moved = LinkQuery(query.source, query.destination, query.time + shift)
        found.append(answers(ready(make, later), later, moved))
    torch.testing.assert_close(found[0], found[1], **CLOSE)
    torch.testing.assert_close(found[0], found[2], **CLOSE)


def half_precision_rounds_no_time(make: Make, graph: TemporalGraph) -> None:
    """Times that are rounded beforehand give other answers, so they are not rounded by the model; and all are close."""
    model, query = ready(make, graph), questions(graph)
    exact = answers(model, graph, query)
    with torch.autocast("cpu", torch.bfloat16):
        half = answers(model, graph, query).float()
        number = model.time_encoder.number
        model.time_encoder.number = lambda elapsed: number(elapsed).bfloat16().float()
        rounded = answers(model, graph, query).float()
    torch.testing.assert_close(half, exact, rtol=0.0, atol=0.02)
    assert not torch.equal(half, rounded)


def reset_forgets(make: Make, graph: TemporalGraph) -> None:
    model, query = ready(make, graph), questions(graph)
    fresh = answers(model, graph, query)
    model.observe(graph.events, History(graph))
    model.observe(graph.events[-50:], History(graph))
    assert torch.equal(answers(model, graph, query), fresh)


def a_checkpoint_restores_the_scores(make: Make, graph: TemporalGraph, folder: Path) -> None:
    model, other, query = ready(make, graph), make(graph, 2).eval(), questions(graph)
    model.observe(graph.events[:100], History(graph))
    save_file(model.state_dict() or {"none": torch.zeros(1)}, folder / "model.safetensors")
    other.load_state_dict(
        {name: value for name, value in load_file(folder / "model.safetensors").items() if name != "none"}
    )
    with torch.no_grad():
        assert torch.equal(model(query, History(graph)), other(query, History(graph)))


def the_same_seed_gives_the_same_run(make: Make, graph: TemporalGraph) -> None:
    runs = [fit(make(graph, seed), graph, Training(seed=seed, epochs=2, batch_size=64)) for seed in (1, 1, 2)]
    assert runs[0].test == runs[1].test
    assert runs[0].epochs == runs[1].epochs
    if runs[0].parameters:
        assert runs[0].epochs != runs[2].epochs
