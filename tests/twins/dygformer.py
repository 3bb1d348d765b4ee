"""The DyGFormer family as the appendix writes it, one pair at a time"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.history import History
from chronolink.models._first_hop import FirstHop
from chronolink.models.dygdecoder import Dygdecoder
from chronolink.models.dygformer import Dygformer
from chronolink.query import LinkQuery


def scores(model: FirstHop, query: LinkQuery, history: History) -> Tensor:
    """Logits of all questions, each computed alone."""
    columns = zip(query.source.tolist(), query.destination.tolist(), query.time, strict=True)
    return torch.stack([_score(model, *question, history) for question in columns])


def counts(first: list[int], second: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    """C_i and C_j: a row a neighbour, how often it occurs in the first and in the second sequence."""

    def rows(sequence: list[int]) -> list[list[int]]:
        return [[first.count(node), second.count(node)] for node in sequence]

    return rows(first), rows(second)


def _score(model: FirstHop, source: int, destination: int, time: Tensor, history: History) -> Tensor:
    ends = [(source, destination), (destination, source)]
    neighbours = [_neighbours(model, node, partner, time, history) for node, partner in ends]
    both = counts(neighbours[0][0], neighbours[1][0])
    tokens = [_tokens(model, *part, count, history) for part, count in zip(neighbours, both, strict=True)]
    pooled = _joint(model, tokens) if isinstance(model, Dygformer) else [_alone(model, part) for part in tokens]
    head = model.head
    embedding = torch.cat([model.out(part) for part in pooled])
    return head.out(torch.relu(head.hidden(embedding))).squeeze(0)


def _neighbours(
    model: FirstHop, node: int, partner: int, time: Tensor, history: History
) -> tuple[list[int], list[int], Tensor]:
    """Nodes, events and encoded times, oldest first, the asked event last."""
    past = history.before(torch.tensor([node]), time.view(1), model.length - 1)
    valid = past.valid[0]
    number = torch.cat([model.time_encoder.measure(past)[0][valid], model.time_encoder.number(time.new_zeros(1))])
    nodes, events = [*past.node[0][valid].tolist(), partner], past.event[0][valid].tolist()
    return nodes, events, model.time_encoder.encode(number)


def _tokens(
    model: FirstHop, nodes: list[int], events: list[int], times: Tensor, count: list[list[int]], history: History
) -> Tensor:
    """X = f_1(V) || f_2(E) || f_3(T) || f_4(C), patched."""
    channels = model.channels
    edges = history.edge_features[torch.tensor(events, dtype=torch.int64)]
    occurrence = torch.tensor(count, dtype=times.dtype).unsqueeze(-1)
    features = channels.count(occurrence[:, 0]) + channels.count(occurrence[:, 1])
    parts = [
        (channels.node, history.node_features[torch.tensor(nodes)]),
        (channels.edge, torch.cat([edges, edges.new_zeros(1, edges.shape[1])])),
        (channels.time, times),
        (channels.occurrence, features),
    ]
    return torch.cat([layer(_patched(part, model.patch)) for layer, part in parts], dim=1)


def _patched(rows: Tensor, patch: int) -> Tensor:
    missing = -len(rows) % patch
    filled = torch.cat([rows, rows.new_zeros(missing, rows.shape[1])])
    return filled.view(len(filled) // patch, patch * rows.shape[1])


def _joint(model: FirstHop, tokens: list[Tensor]) -> list[Tensor]:
    rows = _layers(model, torch.cat(tokens), causal=False)
    return [part.mean(0) for part in rows.split([len(part) for part in tokens])]


def _alone(model: FirstHop, tokens: Tensor) -> Tensor:
    if isinstance(model, Dygdecoder):
        return _layers(model, torch.cat([model.beginning.unsqueeze(0), tokens]), causal=True)[-1]
    return _layers(model, tokens, causal=False).mean(0)


def _layers(model: FirstHop, rows: Tensor, causal: bool) -> Tensor:
    for layer in model.layers:
        normed = layer.attention_norm(rows)
        parts = [part.chunk(layer.heads, dim=1) for part in layer.query_key_value(normed).chunk(3, dim=1)]
        heads = [_head(*each, causal) for each in zip(*parts, strict=True)]
        rows = rows + layer.mix(torch.cat(heads, dim=1))
        rows = rows + layer.narrow(F.gelu(layer.wide(layer.norm(rows))))
    return rows


def _head(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    scores = query @ key.T / query.shape[1] ** 0.5
    if causal:
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
    return torch.softmax(scores, dim=1) @ value
