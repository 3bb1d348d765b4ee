"""One TCL training step on UCI against the padded way"""

from __future__ import annotations

import sys

import torch
from tests.twins.tcl import PaddedTcl

from _side_by_side import DROPOUT, THREADS, Batch, Step, in_turns, peak_megabytes, print_peak, row, training_step
from chronolink import build
from chronolink.allocator import keep_buffers
from chronolink.models.tcl import Tcl

TARGETS = {"linear": 4, "cosine": 4}


def step(time_encoder: str, side: str) -> Step:
    batch = Batch.of("uci")
    model = build("tcl", batch.history.graph, time_encoder=time_encoder, dropout=DROPOUT)
    assert isinstance(model, Tcl)
    model.prepare(batch.train, batch.history)
    twin = PaddedTcl(model, batch.history, DROPOUT)
    ask = {"ours": lambda: model(batch.query, batch.history), "twin": lambda: twin(batch.query)}
    return training_step(model, ask[side])


def main() -> None:
    print(f"TCL on UCI, a batch of 200 from the middle of the split, {THREADS} threads, dropout {DROPOUT}")
    row("time", "ours, s", "twin, s", "ratio", "target", "ours, MB", "twin, MB", "share")
    for time_encoder, target in TARGETS.items():
        ours, twin = in_turns(step(time_encoder, "ours"), step(time_encoder, "twin"), rounds=3, ours_a_round=5)
        memory = [peak_megabytes(__file__, time_encoder, side) for side in ("ours", "twin")]
        row(time_encoder, ours, twin, twin / ours, f">= {target}", *memory, memory[0] / memory[1])
    print("MB: what one step adds at its peak")


if __name__ == "__main__":
    keep_buffers()
    torch.set_num_threads(THREADS)
    print_peak(step(*sys.argv[2:])) if "--peak" in sys.argv else main()
