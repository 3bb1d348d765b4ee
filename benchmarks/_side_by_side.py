"""A training step of ours and of its twin, timed in turns"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from chronolink import EventStream, History, LinkQuery, Split, build, load
from chronolink.allocator import keep_buffers
from chronolink.layers.dropout import reseed
from chronolink.negatives import RandomNegatives

BATCH, DROPOUT, THREADS = 200, 0.1, 2

Step = Callable[[], float]
Twin = Callable[[Any, History, float], Callable[[LinkQuery], Tensor]]  # of a model, with its dropout


@dataclass(frozen=True)
class Batch:
    """Questions from the middle of a data set's training split."""

    train: EventStream
    history: History
    query: LinkQuery

    @classmethod
    def of(cls, data: str) -> Batch:
        graph = load(data)
        train = Split.of(graph).train(graph.events)
        start = middle(train)
        negatives = RandomNegatives(train, graph.num_nodes).beside(train, seed=1)
        cut = slice(start, start + BATCH)
        return cls(train, History(graph.cut(train)), LinkQuery.of(train[cut]) + negatives[cut])


def middle(train: EventStream) -> int:
    """Where the batch begins that half of the events lie before."""
    return len(train) // 2 // BATCH * BATCH


def training_step(model: nn.Module, ask: Callable[[], Tensor]) -> Step:
    """Forward, backward, Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    happened = torch.cat([torch.ones(BATCH), torch.zeros(BATCH)])

    def step() -> float:
        optimizer.zero_grad()
        reseed(model, 1)
        loss = F.binary_cross_entropy_with_logits(ask(), happened)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def in_turns(ours: Step, twin: Step, rounds: int, ours_a_round: int) -> tuple[float, float]:
    """Median seconds of both, side by side, so that they meet the same neighbours on a shared machine."""
    losses = (ours(), twin())
    assert abs(losses[0] - losses[1]) < 0.05, f"ours and twin differ: {losses}"  # other dropout masks
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        taken[1].append(seconds(twin))
        taken[0].extend(seconds(ours) for _ in range(ours_a_round))
    return statistics.median(taken[0]), statistics.median(taken[1])


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peak_megabytes(script: str, *arguments: str) -> float:
    """What `print_peak` prints when the script is run with --peak in a fresh process."""
    command = [sys.executable, script, "--peak", *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1e6


def print_peak(step: Step) -> None:
    """The bytes that a step adds to the resident memory at its peak, beside what the first has compiled and planned."""
    step()
    ctypes.CDLL(None).malloc_trim(0)  # what has been freed must not hide what the step takes
    Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the peak so far
    before = resident("VmRSS")
    step()
    print(resident("VmHWM") - before)


def resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def compare(script: str, name: str, twin_of: Twin, targets: Mapping[str, float], ours_a_round: int) -> None:
    """The table of a model on UCI, a row a time encoder; or, asked by itself with --peak, one step's memory."""
    keep_buffers()
    torch.set_num_threads(THREADS)
    if "--peak" in sys.argv:
        print_peak(_step(name, twin_of, *sys.argv[2:]))
        return
    print(f"{name} on UCI, a batch of {BATCH} from the middle of the split, {THREADS} threads, dropout {DROPOUT}")
    row("time", "ours, s", "twin, s", "ratio", "target", "ours, MB", "twin, MB", "share")
    for encoder, target in targets.items():
        sides = [_step(name, twin_of, encoder, side) for side in ("ours", "twin")]
        ours, twin = in_turns(*sides, rounds=3, ours_a_round=ours_a_round)
        memory = [peak_megabytes(script, encoder, side) for side in ("ours", "twin")]
        row(encoder, ours, twin, twin / ours, f">= {target}", *memory, memory[0] / memory[1])
    print("MB: what one step adds at its peak")


def _step(name: str, twin_of: Twin, encoder: str, side: str) -> Step:
    batch = Batch.of("uci")
    model = build(name, batch.history.graph, time_encoder=encoder, dropout=DROPOUT)
    model.prepare(batch.train, batch.history)
    twin = twin_of(model, batch.history, DROPOUT)
    ask = {"ours": lambda: model(batch.query, batch.history), "twin": lambda: twin(batch.query)}
    return training_step(model, ask[side])


def row(*cells: object) -> None:
    print("".join(f"{cell:>14}" if isinstance(cell, str) else f"{cell:>14.3f}" for cell in cells))
