"""One training step in bf16 against the same step in float32, on UCI"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from _side_by_side import DROPOUT, THREADS, Batch, Step, in_turns, row, training_step
from chronolink import build
from chronolink.allocator import keep_buffers

MODELS = ("tgat", "dygformer", "dygformer-separate", "dygdecoder", "tgn", "cawn", "graphmixer", "tcl")


def step(model: str, batch: Batch, half: bool) -> Step:
    built = build(model, batch.history.graph, time_encoder="linear", dropout=DROPOUT)
    built.prepare(batch.train, batch.history)

    def ask() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            return built(batch.query, batch.history).float()

    return training_step(built, ask)


if __name__ == "__main__":
    keep_buffers()
    torch.set_num_threads(THREADS)
    batch = Batch.of("uci")
    print(
        f"batches of 200, {THREADS} threads, linear time, dropout {DROPOUT}; a CPU without bf16 products gains nothing"
    )
    row("model", "bf16, s", "float32, s", "ratio")
    for model in sys.argv[1:] or MODELS:
        half, single = in_turns(step(model, batch, True), step(model, batch, False), rounds=5, ours_a_round=1)
        row(model, half, single, single / half)
