"""Attention scores beside their elapsed times"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..draws import fold
from ..errors import ChronolinkError, at_least_one
from ..events import EventStream
from ..history import History
from ..layers.packing import Packing
from ..layers.sequences import Sequences
from ..layers.transformer import Rows, TransformerLayer
from ..model import LinkModel
from ..query import LinkQuery
from ..time_encoder import Plain, TimeEncoder

Array = NDArray[np.float64]

BATCH = 50  # questions read at once
FEW = 80  # so many distinct times get a cell each
CELLS = 36  # along an axis otherwise
RARE = 0.005  # share of the times at either end that is too thin for bins of its own


@runtime_checkable
class EventTransformer(Protocol):
    """A model whose layers attend over the events of the asked nodes: the DyGFormer family."""

    length: int
    patch: int
    layers: nn.ModuleList
    time_encoder: TimeEncoder

    def rows(self, sequences: Sequences, history: History, count: int) -> Rows: ...


@dataclass(frozen=True, slots=True, eq=False)
class AttentionScores:
    """One entry a (query, key): the mean over the heads, and how long before the asked time t each of them was.

    The asked event itself is 0 back, and a patch is as far back as its events are on average. A query's scores, one
    after the other, sum to one; that of a learnt beginning, which has no time, is among them.
    """

    elapsed_query: Array  # t - t_q
    elapsed_key: Array  # t - t_k; nan of a learnt beginning
    score: Array
    source: NDArray[np.bool_]  # the query stands in the source's sequence, not in the destination's
    own: NDArray[np.bool_]  # and the key in the same one, which only DyGFormer's may not
    asked: NDArray[np.bool_]  # the query holds the asked event, the last of its sequence

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, chosen: NDArray[np.bool_] | slice) -> AttentionScores:
        return AttentionScores(*(getattr(self, field.name)[chosen] for field in fields(self)))


def attention_scores(
    model: LinkModel,
    history: History,
    asked: EventStream | LinkQuery,
    layer: int = -1,
    most: int = 500,
    seed: int = 0,
) -> AttentionScores:
    """What a layer attends to when it is asked about these events, or about `most` of them that the seed draws.

    Every row of the layer is a query, those of DyGDecoder's last layer, too, of which a prediction reads only the
    last.
    """
    query = LinkQuery.of(asked) if isinstance(asked, EventStream) else asked
    at_least_one(events=len(query), most=most)
    if not isinstance(model, EventTransformer):
        raise ChronolinkError(f"{type(model).__name__} attends to no sequence of events; take one of the dygformers")
    if not -len(model.layers) <= layer < len(model.layers):
        raise ChronolinkError(f"there is no layer {layer}; the model has {len(model.layers)}, counted from 0")
    query = query[fold(seed, torch.arange(len(query), device=query.time.device)).argsort()[:most].sort().values]
    layers = list(model.layers)[: layer % len(model.layers) + 1]
    with torch.no_grad(), _evaluating(model):
        parts = [_read(model, layers, query[i : i + BATCH], history) for i in range(0, len(query), BATCH)]
    columns = ([getattr(part, field.name) for part in parts] for field in fields(AttentionScores))
    return AttentionScores(*map(np.concatenate, columns))


def _read(model: EventTransformer, layers: Sequence[nn.Module], query: LinkQuery, history: History) -> AttentionScores:
    count, latest = 2 * len(query), layers[-1]
    sequences = Sequences.of(query, history, model.time_encoder, model.length, model.patch)
    given = model.rows(sequences, history, count)
    assert isinstance(latest, TransformerLayer)
    with _hooked(latest.attention) as seen:
        given.through(layers)
    elapsed = _laid(given.packing, _elapsed(model, query, history), torch.nan)
    sequence = _laid(given.packing, sequences.sequence, -1)
    return _pairs(seen[0].mean(0), elapsed, sequence, _visible(given), len(query))


def _pairs(weights: Tensor, elapsed: Tensor, sequence: Tensor, visible: Tensor, pairs: int) -> AttentionScores:
    """weights and visible [groups, asked, kept], elapsed and sequence [groups, kept]."""
    query, kept = sequence.unsqueeze(2), sequence.unsqueeze(1)
    chosen = visible & (query >= 0)
    group, row, column = chosen.nonzero(as_tuple=True)
    own = ((kept == query) | (kept < 0))[chosen]
    last = (sequence != F.pad(sequence[:, 1:], (0, 1), value=-1))[group, row]
    found = (elapsed[group, row], elapsed[group, column], weights[chosen].double())
    return AttentionScores(
        *(part.cpu().numpy() for part in (*found, sequence[group, row] < pairs, own, last)),
    )


def _elapsed(model: EventTransformer, query: LinkQuery, history: History) -> Tensor:
    """[patches] float64: the mean over a patch's events."""
    unscaled = Plain().double().to(query.time.device)  # as long as it is not fitted
    sequences = Sequences.of(query, history, unscaled, model.length, model.patch)
    return (sequences.number * sequences.filled).sum(1) / sequences.filled.sum(1)


def _laid(packing: Packing, patches: Tensor, none: float) -> Tensor:
    """[patches] to [groups, longest]; `none` where a row is of no event, or where there is no row."""
    groups = patches.new_full(packing.filled.shape, none)
    groups.view(-1)[packing.spot[-len(patches) :]] = patches
    return groups


def _visible(given: Rows) -> Tensor:
    """[groups, asked, kept]: there is a key, and it is not later than a causal query."""
    filled = given.packing.filled
    kept = filled.unsqueeze(1).expand(-1, filled.shape[1], -1)
    return kept.tril() if given.causal else kept


@contextmanager
def _hooked(attention: nn.Module) -> Iterator[list[Tensor]]:
    seen: list[Tensor] = []
    hook = attention.register_forward_hook(lambda _module, _inputs, weights: seen.append(weights))
    try:
        yield seen
    finally:
        hook.remove()


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout for a while."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Where elapsed times are cut: a bin holds its lower edge, the last one its upper one, too."""

    edges: Array  # [bins + 1]
    logarithmic: bool  # the first bin holds the asked event alone, the others grow by a factor

    @classmethod
    def of(cls, *scores: AttentionScores) -> Bins:
        """For all of these together: a bin a time where times are few, logarithmic ones otherwise."""
        elapsed = np.concatenate([part.elapsed_query for part in scores])
        return cls.distinct(elapsed) if len(np.unique(elapsed)) <= FEW else cls.logarithm(elapsed)

    @classmethod
    def distinct(cls, elapsed: Array) -> Bins:
        """A time each, cut midway."""
        times = np.unique(elapsed)
        half = np.diff(times) / 2 if len(times) > 1 else np.full(1, 0.5)
        middle = (times[1:] + times[:-1]) / 2
        return cls(np.concatenate([[times[0] - half[0]], middle, [times[-1] + half[-1]]]), False)

    @classmethod
    def even(cls, elapsed: Array, count: int = CELLS) -> Bins:
        return cls(np.linspace(0.0, elapsed.max() or 1.0, count + 1), False)

    @classmethod
    def logarithm(cls, elapsed: Array, count: int = CELLS) -> Bins:
        """The first bin of the past and the last reach out to the rare times beyond."""
        past = elapsed[elapsed > 0] if elapsed.max() > 0 else np.ones(1)
        low, high = np.quantile(past, [RARE, 1 - RARE])
        edges = np.append(0.0, np.geomspace(low, max(high, 2 * low), count))
        edges[1], edges[-1] = past.min(), max(edges[-1], past.max())
        return cls(edges, True)

    def place(self, elapsed: Array) -> NDArray[np.int64]:
        """Which bin; -1 where there is none, as for nan."""
        last = len(self.edges) - 1
        place = np.searchsorted(self.edges, elapsed, side="right") - 1
        place[elapsed == self.edges[-1]] = last - 1
        return np.where(place < last, place, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The plane of (t - t_q, t - t_k): a row a bin of queries, a column a bin of keys."""

    bins: Bins
    mean: Array  # [bins, bins], the mean score; nan where there is none
    count: NDArray[np.int64]  # [bins, bins]


def average(scores: AttentionScores, bins: Bins) -> Cells:
    """The mean score of every cell; keys without a time are in none."""
    size = len(bins.edges) - 1
    row, column = bins.place(scores.elapsed_query), bins.place(scores.elapsed_key)
    within = (row >= 0) & (column >= 0)
    cell = (row * size + column)[within]
    count = np.bincount(cell, minlength=size * size)
    summed = np.bincount(cell, weights=scores.score[within], minlength=size * size)
    mean = np.divide(summed, count, out=np.full(size * size, np.nan), where=count > 0)
    return Cells(bins, mean.reshape(size, size), count.reshape(size, size))
