"""CAWN as the paper writes it, one question and one walk at a time"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from chronolink.draws import fold
from chronolink.history import History, Neighbours
from chronolink.layers.walk_lstm import WalkLstm
from chronolink.models.cawn import Cawn
from chronolink.query import LinkQuery


@dataclass
class Step:
    node: int
    event: int | None
    number: Tensor


def scores(model: Cawn, query: LinkQuery, history: History) -> Tensor:
    """Logits of all questions, each computed alone."""
    columns = zip(query.source.tolist(), query.destination.tolist(), query.time, strict=True)
    return torch.stack([_score(model, *question, history) for question in columns])


def _score(model: Cawn, source: int, destination: int, time: Tensor, history: History) -> Tensor:
    walks = [drawn(model, node, time, history) for node in (source, destination)]
    found = []
    for own in walks:
        rows = torch.stack([_encoded(model, walk, walks, history) for walk in own])
        found.append(model.out(_mixed(model, rows).mean(0)))
    head = model.head
    return head.out(torch.relu(head.hidden(torch.cat(found)))).squeeze(0)


def drawn(model: Cawn, node: int, time: Tensor, history: History) -> list[list[Step]]:
    """The walks of one node, each from its root on."""
    root, moment = torch.tensor([node]), time.view(1)
    first = history.before(root, moment, model.neighbours, model.sampling)
    now = Step(node, None, model.time_encoder.number(time.new_zeros(())))
    walks = []
    for walk in range(model.neighbours):
        past, place, steps = first, walk, [now]
        for hop in range(model.length):
            if not bool(past.valid[0, place]):
                break
            when = past.time[0, place : place + 1]
            steps.append(Step(int(past.node[0, place]), int(past.event[0, place]), _number(model, time, when, hop)))
            if hop + 1 < model.length:
                key = fold(fold(root, history.position(moment), walk), hop + 1)
                past, place = history.before(past.node[0, place : place + 1], when, 1, model.sampling.keyed(key)), 0
        walks.append(steps)
    return walks


def _number(model: Cawn, time: Tensor, when: Tensor, hop: int) -> Tensor:
    """Of a hop, as the time encoder measures it: the past has as many events as the walk has hops until there."""
    size = hop + 1
    none = torch.zeros(1, size, dtype=torch.int64)
    elapsed = (time - when).expand(1, size)
    return model.time_encoder.measure(Neighbours(none, none, when.expand(1, size), elapsed, none == 0))[0, 0]


def shares(node: int, walks: list[list[Step]], positions: int) -> list[float]:
    """g(w, S): at each position, the share of walks that have the node there."""
    return [sum(len(w) > i and w[i].node == node for w in walks) / len(walks) for i in range(positions)]


def _encoded(model: Cawn, walk: list[Step], walks: list[list[list[Step]]], history: History) -> Tensor:
    dtype = model.out.weight.dtype
    steps, identities = [], []
    for step in walk:
        counted = torch.tensor([shares(step.node, side, model.length + 1) for side in walks], dtype=dtype)
        identity = model.identity.out(torch.relu(model.identity.hidden(counted))).sum(0)
        edges = history.edge_features[step.event or 0] * (step.event is not None)
        encoded = model.time_encoder.encode(step.number)
        steps.append(torch.cat([history.node_features[step.node].to(dtype), edges.to(dtype), encoded, identity]))
        identities.append(identity)
    return model.join(torch.cat([_lstm(model.of_steps, steps), _lstm(model.of_identities, identities)]))


def _lstm(lstm: WalkLstm, steps: list[Tensor]) -> Tensor:
    state = cell = steps[0].new_zeros(lstm.recurrent.in_features)
    for step in steps:
        enter, keep, new, leave = (lstm.ahead(step) + lstm.recurrent(state)).chunk(4)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
        state = torch.sigmoid(leave) * torch.tanh(cell)
    enter, new, leave = lstm.back(steps[-1]).chunk(3)
    return torch.cat([state, torch.sigmoid(leave) * torch.tanh(torch.sigmoid(enter) * torch.tanh(new))])


def _mixed(model: Cawn, rows: Tensor) -> Tensor:
    """torch's own transformer layer, given the model's weights."""
    part = model.attention
    layer = nn.TransformerEncoderLayer(rows.shape[1], part.heads, 4 * rows.shape[1], dropout=0.0, dtype=rows.dtype)
    weights = {
        "self_attn.in_proj_weight": part.query_key_value.weight,
        "self_attn.in_proj_bias": part.query_key_value.bias,
        **{f"self_attn.out_proj.{name}": value for name, value in part.mix.named_parameters()},
        **{f"linear1.{name}": value for name, value in part.wide.named_parameters()},
        **{f"linear2.{name}": value for name, value in part.narrow.named_parameters()},
        **{f"norm1.{name}": value for name, value in part.attention_norm.named_parameters()},
        **{f"norm2.{name}": value for name, value in part.norm.named_parameters()},
    }
    return torch.func.functional_call(layer, weights, rows.unsqueeze(1)).squeeze(1)
