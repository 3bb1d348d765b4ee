"""A training step of ours and of TGM's on UCI, batch for batch

TGM (`pip install chronolink[peers]`) has the parts; what puts TGAT and TGN together is its users' to write, and is
written here from the papers. Its features are zeros of the paper's width, as it takes no absent ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import torch
from tgm import DGraph
from tgm.data import DGData, DGDataLoader
from tgm.hooks import HookManager, NegativeEdgeSamplerHook, RecencyNeighborHook
from tgm.nn import DyGFormer, LinkPredictor, TemporalAttention, TGNMemory, Time2Vec
from tgm.nn.encoder.tgn import GraphAttentionEmbedding, IdentityMessage, LastAggregator
from torch import Tensor, nn

from _side_by_side import BATCH, DROPOUT, THREADS, middle, peak_megabytes, print_peak, row, training_step
from chronolink import EventStream, History, LinkQuery, Split, TemporalGraph, build, load
from chronolink.allocator import keep_buffers
from chronolink.negatives import RandomNegatives

WIDTH, TIME_WIDTH, ROUNDS = 172, 100, 5
SEEDS = ("edge_src", "edge_dst", "neg")
NEIGHBOURS = {"tgat": [20, 20], "tgn": [10], "dygformer": [31]}  # and the node itself: a sequence of 32


class PeerTgat(nn.Module):
    """Two hops of TGM's attention; what hop 0 asks of hop 1 is a tree, as its neighbours come."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.nodes = torch.zeros(nodes, WIDTH)
        self.time = Time2Vec(TIME_WIDTH)
        layers = [TemporalAttention(2, WIDTH, WIDTH, TIME_WIDTH, DROPOUT) for _ in range(2)]
        self.layers = nn.ModuleList(layers)
        self.merge = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * WIDTH + TIME_WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)) for _ in layers
        )
        self.head = LinkPredictor(WIDTH, hidden_dim=WIDTH)

    def forward(self, batch: Any) -> Tensor:
        seeds, others = (self.nodes[batch.seed_nids[hop].clamp(min=0)] for hop in range(2))
        seeds_below = self._attend(0, batch, 0, seeds, self._of(batch, 0))
        others_below = self._attend(0, batch, 1, others, self._of(batch, 1))
        last = self._attend(1, batch, 0, seeds_below, others_below.view(*batch.nbr_nids[0].shape, WIDTH))
        source, destination, negative = last.chunk(3)
        return torch.cat([self.head(source, destination), self.head(source, negative)])

    def _of(self, batch: Any, hop: int) -> Tensor:
        return self.nodes[batch.nbr_nids[hop].clamp(min=0)]

    def _attend(self, layer: int, batch: Any, hop: int, own: Tensor, others: Tensor) -> Tensor:
        valid, elapsed = batch.nbr_nids[hop] >= 0, batch.seed_times[hop].unsqueeze(1) - batch.nbr_edge_time[hop]
        now = self.time(torch.zeros(len(own)))
        mixed = self.layers[layer](own, now, batch.nbr_edge_x[hop], others, self.time(elapsed), valid)
        return self.merge[layer](torch.cat([mixed, self.nodes[batch.seed_nids[hop].clamp(min=0)]], dim=1))

    def observe(self, batch: Any) -> None:
        """Its neighbours come with the batch."""


class PeerTgn(nn.Module):
    """TGM's memory and one attention layer over the batch's graph."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        message = IdentityMessage(WIDTH, WIDTH, TIME_WIDTH)
        self.memory = TGNMemory(nodes, WIDTH, WIDTH, TIME_WIDTH, message, LastAggregator())
        self.attention = GraphAttentionEmbedding(WIDTH, WIDTH, WIDTH, self.memory.time_enc)
        self.head = LinkPredictor(WIDTH, hidden_dim=WIDTH)
        self.place = torch.empty(nodes, dtype=torch.long)

    def forward(self, batch: Any) -> Tensor:
        seeds, others = batch.seed_nids[0].long(), batch.nbr_nids[0].long()
        valid = others >= 0
        distinct = torch.cat([seeds, others[valid]]).unique()
        self.place[distinct] = torch.arange(len(distinct))
        remembered, updated = self.memory(distinct)
        to = seeds.unsqueeze(1).expand_as(others)[valid]
        edges = torch.stack([self.place[others[valid]], self.place[to]])
        past = (batch.nbr_edge_time[0][valid], batch.nbr_edge_x[0][valid])
        last = self.attention(remembered, updated, edges, *past)[self.place[seeds]]
        source, destination, negative = last.chunk(3)
        return torch.cat([self.head(source, destination), self.head(source, negative)])

    def observe(self, batch: Any) -> None:
        self.memory.update_state(batch.edge_src.long(), batch.edge_dst.long(), batch.edge_time, batch.edge_x)
        self.memory.detach()


class PeerDygformer(nn.Module):
    """TGM's DyGFormer, asked for the pairs that happened and for those that did not."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.nodes = torch.zeros(nodes, WIDTH)
        self.model = DyGFormer(WIDTH, WIDTH, TIME_WIDTH, 50, dropout=DROPOUT, max_input_sequence_length=32)
        self.head = LinkPredictor(WIDTH, hidden_dim=WIDTH)

    def forward(self, batch: Any) -> Tensor:
        past = (batch.nbr_nids[0], batch.nbr_edge_time[0], batch.nbr_edge_x[0])
        pasts = [column.chunk(3) for column in past]
        return torch.cat([self._ask(batch, batch.edge_dst, pasts, 1), self._ask(batch, batch.neg, pasts, 2)])

    def _ask(self, batch: Any, other: Tensor, pasts: list[Any], place: int) -> Tensor:
        both = [torch.cat([parts[0], parts[place]]) for parts in pasts]
        pairs = torch.stack([batch.edge_src, other])
        return self.head(*self.model(self.nodes, pairs, batch.edge_time, *both))

    def observe(self, batch: Any) -> None:
        """It has no memory."""


PEERS = {"tgat": PeerTgat, "tgn": PeerTgn, "dygformer": PeerDygformer}


def ours(name: str) -> Iterator[float]:
    """Seconds of one batch after another from the middle of the training split: negatives, step, observing."""
    graph, train = _training()
    history = History(graph.cut(train))
    model = build(name, graph, time_encoder="cosine", dropout=DROPOUT)
    model.prepare(train, history)
    negatives = RandomNegatives(train, graph.num_nodes)
    for start in range(0, middle(train), BATCH):
        model.observe(train[start : start + BATCH], history)
    step = training_step(model, lambda: model(query, history))
    for start in range(middle(train), len(train) - BATCH, BATCH):
        begun, batch = time.perf_counter(), train[start : start + BATCH]
        query = LinkQuery.of(batch) + negatives.beside(batch, seed=1)
        step()
        model.observe(batch, history)
        yield time.perf_counter() - begun


def peers(name: str) -> Iterator[float]:
    """The same of TGM: loading the batch with its hooks, step, observing."""
    graph, train = _training()
    hooks = HookManager(keys=["train"])
    hooks.register("train", NegativeEdgeSamplerHook(low=0, high=graph.num_nodes))
    times = ("edge_time", "edge_time", "neg_time")
    hooks.register("train", RecencyNeighborHook(graph.num_nodes, NEIGHBOURS[name], list(SEEDS), list(times)))
    model = PEERS[name](graph.num_nodes)
    step = training_step(model, lambda: model(batch))
    loader = DGDataLoader(DGraph(_as_tgm(train)), batch_size=BATCH, hook_manager=hooks)
    with hooks.activate("train"):
        batches, first = iter(loader), middle(train) // BATCH
        while True:
            begun, batch = time.perf_counter(), next(batches)
            first -= 1
            if first < 0:
                step()
            with torch.no_grad():
                model.observe(batch)
            if first < 0:
                yield time.perf_counter() - begun


def _training() -> tuple[TemporalGraph, EventStream]:
    graph = load("uci")
    return graph, Split.of(graph).train(graph.events)


def _as_tgm(train: EventStream) -> Any:
    pairs = torch.stack([train.source, train.destination], dim=1).int()
    return DGData.from_raw(train.time.long(), pairs, edge_x=torch.zeros(len(train), WIDTH))


def in_turns(name: str) -> tuple[float, float]:
    """Median seconds a batch of both, which meet the same noise."""
    sides = (ours(name), peers(name))
    taken = [[next(side) for side in sides] for _ in range(ROUNDS + 1)][1:]
    return median(pair[0] for pair in taken), median(pair[1] for pair in taken)


def main() -> None:
    print(f"UCI, batches of {BATCH} from the middle of the split, {THREADS} threads, cosine time, dropout {DROPOUT}")
    row("model", "ours, s", "TGM, s", "ratio", "ours, MB", "TGM, MB", "share")
    for name in PEERS:
        mine, theirs = in_turns(name)
        memory = [peak_megabytes(__file__, name, side) for side in ("ours", "peers")]
        row(name, mine, theirs, theirs / mine, *memory, memory[0] / memory[1])
    print("s: negatives, neighbours, forward, backward, Adam, memory; MB: what one step adds at its peak")


if __name__ == "__main__":
    keep_buffers()
    torch.set_num_threads(THREADS)
    if "--peak" in sys.argv:
        side = {"ours": ours, "peers": peers}[sys.argv[3]](sys.argv[2])
        print_peak(lambda: next(side))
    else:
        main()
