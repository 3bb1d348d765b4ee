"""TGN, JODIE and DyRep from their formulae, one event and one question at a time"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.events import EventStream
from chronolink.history import History, Neighbours
from chronolink.layers.memory_attention import MemoryAttention
from chronolink.models._memory import MemoryModel
from chronolink.models.dyrep import Dyrep
from chronolink.models.jodie import Jodie
from chronolink.models.tgn import Tgn
from chronolink.query import LinkQuery


@dataclass
class Event:
    """As seen from one of its ends, with the other's memory just before it."""

    other: int
    row: int
    time: float
    memory: Tensor


class OneByOne:
    """The function that a model of the family must equal, with that model's weights and a memory of its own."""

    def __init__(self, model: MemoryModel, history: History) -> None:
        self.model, self.history = model, history
        self.memory: dict[int, Tensor] = {}
        self.updated: dict[int, float] = {}
        self.waiting: dict[int, Event] = {}
        self.dtype = model.head.out.weight.dtype

    def observe(self, events: EventStream) -> None:
        columns = (events.source, events.destination, events.id, events.time)
        latest: dict[int, tuple[int, int, float]] = {}
        for source, destination, row, time in zip(*(column.tolist() for column in columns), strict=True):
            latest[source] = (destination, row, time)
            latest[destination] = (source, row, time)
        due = [node for node, event in latest.items() if node in self.waiting and self.waiting[node].time < event[2]]
        new = {node: self._take_in(node).detach() for node in due}
        self.updated |= {node: self.waiting[node].time for node in due}
        self.memory |= new
        for node, (other, row, time) in latest.items():
            self.waiting[node] = Event(other, row, time, self._memory(other))

    def __call__(self, query: LinkQuery) -> Tensor:
        head, logits = self.model.head, []
        columns = (query.source, query.destination, query.time)
        for source, destination, time in zip(*(column.tolist() for column in columns), strict=True):
            both = torch.cat([self.embed(source, time), self.embed(destination, time)])
            logits.append(head.out(torch.relu(head.hidden(both))).squeeze(0))
        return torch.stack(logits)

    def embed(self, node: int, time: float) -> Tensor:
        if isinstance(self.model, Tgn):
            return self._attended(node, time, time, len(self.model.layers))
        memory = self.recall(node, time)
        if isinstance(self.model, Jodie):
            last = self.waiting[node].time if self._sees(node, time) else self.updated.get(node, time)
            z = self.model.scale(torch.tensor([time - last], dtype=torch.float64)).to(self.dtype)
            return (1 + self.model.drift(z)) * memory
        return memory

    def recall(self, node: int, time: float) -> Tensor:
        """The memory at a time, with the event that waits if it lies before."""
        return self._take_in(node) if self._sees(node, time) else self._memory(node)

    def _sees(self, node: int, time: float) -> bool:
        return node in self.waiting and self.waiting[node].time < time

    def _memory(self, node: int) -> Tensor:
        return self.memory.get(node, torch.zeros(self.model.width, dtype=self.dtype))

    def _take_in(self, node: int) -> Tensor:
        event, encoder = self.waiting[node], self.model.time_encoder
        elapsed = event.time - self.updated.get(node, event.time)
        number = encoder.measure(one_event(event.other, event.row, event.time, elapsed))[0]
        edge = self.history.edge_features[event.row]
        other = self._gathered(event) if isinstance(self.model, Dyrep) else event.memory
        message = torch.cat([self._memory(node), other, edge, encoder.encode(number)[0]])
        return (gated if isinstance(self.model, Tgn) else simple)(self.model, message, self._memory(node))

    def _gathered(self, event: Event) -> Tensor:
        """g_j(t)."""
        assert isinstance(self.model, Dyrep)
        past = self._past(event.other, event.time)
        own = self._with_features(event.other, event.memory)
        others = [self._with_features(int(node), self._memory(int(node))) for node in past.node]
        return self._layer(self.model.gather, own, own, others, past)

    def _attended(self, node: int, time: float, moment: float, layer: int) -> Tensor:
        """h^layer of TGN."""
        assert isinstance(self.model, Tgn)
        first = self._with_features(node, self.recall(node, moment))
        if layer == 0:
            return first
        past = self._past(node, time)
        below = [(int(n), float(t)) for n, t in zip(past.node, past.time, strict=True)]
        others = [self._attended(n, t, moment, layer - 1) for n, t in below]
        own = self._attended(node, time, moment, layer - 1)
        return self._layer(self.model.layers[layer - 1], own, first, others, past)

    def _past(self, node: int, time: float) -> Neighbours:
        """Its valid events alone, with the numbers that the encoder reads in place of the elapsed times."""
        asked, model = torch.tensor([time], dtype=torch.float64), self.model
        past = self.history.before(torch.tensor([node]), asked, model.neighbours, model.sampling)
        valid, number = past.valid[0], model.time_encoder.measure(past)[0]
        return Neighbours(past.node[0][valid], past.event[0][valid], past.time[0][valid], number[valid], valid[valid])

    def _with_features(self, node: int, memory: Tensor) -> Tensor:
        features = self.history.node_features[node]
        return memory + F.pad(features, (0, len(memory) - len(features)))

    def _layer(
        self, layer: MemoryAttention, own: Tensor, first: Tensor, others: list[Tensor], past: Neighbours
    ) -> Tensor:
        """W_1 ReLU(W_0 [LayerNorm(W_O [sum_j a_j W_V z_j] + b_O + q), first] + b_0) + b_1, a = softmax(q K / sqrt)."""
        attention, encoder = layer.attention, self.model.time_encoder
        asked = torch.cat([own, encoder.now()])
        mixed = torch.zeros_like(asked)
        if others:
            encoded = encoder.encode(past.elapsed)
            z = torch.cat([torch.stack(others), self.history.edge_features[past.event], encoded], dim=1)
            mixed = attend(attention.query(asked), attention.key(z), attention.value(z), attention.heads)
        attended = attention.norm(attention.out(mixed) + asked)
        return layer.out(torch.relu(layer.hidden(torch.cat([attended, first]))))


def attend(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """One query [width] over keys and values [past, width]."""
    parts = zip(query.chunk(heads), key.chunk(heads, dim=1), value.chunk(heads, dim=1), strict=True)
    return torch.cat([torch.softmax(k @ q / len(q) ** 0.5, dim=0) @ v for q, k, v in parts])


def gated(model: MemoryModel, message: Tensor, state: Tensor) -> Tensor:
    cell = model.cell
    of_message = (cell.weight_ih @ message + cell.bias_ih).chunk(3)
    of_state = (cell.weight_hh @ state + cell.bias_hh).chunk(3)
    r, z = (torch.sigmoid(of_message[gate] + of_state[gate]) for gate in (0, 1))
    return (1 - z) * torch.tanh(of_message[2] + r * of_state[2]) + z * state


def simple(model: MemoryModel, message: Tensor, state: Tensor) -> Tensor:
    cell = model.cell
    return torch.tanh(cell.weight_ih @ message + cell.bias_ih + cell.weight_hh @ state + cell.bias_hh)


def one_event(node: int, row: int, time: float, elapsed: float) -> Neighbours:
    times = (torch.tensor([[value]], dtype=torch.float64) for value in (time, elapsed))
    return Neighbours(torch.tensor([[node]]), torch.tensor([[row]]), *times, torch.tensor([[True]]))
