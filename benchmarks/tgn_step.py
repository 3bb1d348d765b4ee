"""One TGN training step on UCI against the usual padded way"""

from __future__ import annotations

import sys
import time
from statistics import median

import torch
from tests.twins.padded_tgn import PaddedTgn

from _side_by_side import (
    BATCH,
    DROPOUT,
    THREADS,
    Batch,
    Step,
    in_turns,
    middle,
    peak_megabytes,
    print_peak,
    row,
    training_step,
)
from chronolink import build
from chronolink.allocator import keep_buffers
from chronolink.models.tgn import Tgn

TARGETS = {"linear": 2, "cosine": 2}


def prepared(time_encoder: str) -> tuple[Batch, Tgn]:
    """A model that has observed all that lies before the batch."""
    batch = Batch.of("uci")
    model = build("tgn", batch.history.graph, time_encoder=time_encoder, dropout=DROPOUT)
    assert isinstance(model, Tgn)
    model.prepare(batch.train, batch.history)
    for start in range(0, middle(batch.train), BATCH):
        model.observe(batch.train[start : start + BATCH], batch.history)
    return batch, model


def step(time_encoder: str, side: str) -> Step:
    batch, model = prepared(time_encoder)
    twin = PaddedTgn(model, batch.history, DROPOUT)
    ask = {"ours": lambda: model(batch.query, batch.history), "twin": lambda: twin(batch.query)}
    return training_step(model, ask[side])


def observing(time_encoder: str) -> float:
    """Median seconds to observe a batch, over twenty that follow each other."""
    batch, model = prepared(time_encoder)
    taken, first = [], middle(batch.train)
    for start in range(first, first + 20 * BATCH, BATCH):
        begun = time.perf_counter()
        model.observe(batch.train[start : start + BATCH], batch.history)
        taken.append(time.perf_counter() - begun)
    return median(taken)


def main() -> None:
    print(f"TGN on UCI, a batch of 200 from the middle of the split, {THREADS} threads, dropout {DROPOUT}")
    row("time", "ours, s", "twin, s", "ratio", "target", "observe, s", "ours, MB", "twin, MB", "share")
    for time_encoder, target in TARGETS.items():
        ours, twin = in_turns(step(time_encoder, "ours"), step(time_encoder, "twin"), rounds=15, ours_a_round=3)
        memory = [peak_megabytes(__file__, time_encoder, side) for side in ("ours", "twin")]
        shown = (ours, twin, twin / ours, f">= {target}", observing(time_encoder))
        row(time_encoder, *shown, *memory, memory[0] / memory[1])
    print("MB: what one step adds at its peak; observe: what every batch takes besides")


if __name__ == "__main__":
    keep_buffers()
    torch.set_num_threads(THREADS)
    print_peak(step(*sys.argv[2:])) if "--peak" in sys.argv else main()
