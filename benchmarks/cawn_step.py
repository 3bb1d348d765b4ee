"""One CAWN training step on UCI against the usual padded way"""

from __future__ import annotations

import sys

import torch
from tests.twins.padded_cawn import PaddedCawn

from _side_by_side import DROPOUT, THREADS, Batch, Step, in_turns, peak_megabytes, print_peak, row, training_step
from chronolink import build
from chronolink.allocator import keep_buffers
from chronolink.models.cawn import Cawn

TARGETS = {("linear", 32): 8, ("cosine", 32): 8, ("linear", 64): 8}


def step(time_encoder: str, walks: int, side: str) -> Step:
    batch = Batch.of("uci")
    model = build("cawn", batch.history.graph, time_encoder=time_encoder, dropout=DROPOUT, neighbours=walks)
    assert isinstance(model, Cawn)
    model.prepare(batch.train, batch.history)
    twin = PaddedCawn(model, batch.history, DROPOUT)
    ask = {"ours": lambda: model(batch.query, batch.history), "twin": lambda: twin(batch.query)}
    return training_step(model, ask[side])


def main() -> None:
    print(f"CAWN on UCI, a batch of 200 from the middle of the split, {THREADS} threads, dropout {DROPOUT}")
    row("time", "walks", "ours, s", "twin, s", "ratio", "target", "ours, MB", "twin, MB", "share")
    for (time_encoder, walks), target in TARGETS.items():
        size = (time_encoder, walks)
        ours, twin = in_turns(step(*size, "ours"), step(*size, "twin"), rounds=3, ours_a_round=3)
        memory = [peak_megabytes(__file__, time_encoder, str(walks), side) for side in ("ours", "twin")]
        row(time_encoder, str(walks), ours, twin, twin / ours, f">= {target}", *memory, memory[0] / memory[1])


if __name__ == "__main__":
    keep_buffers()
    torch.set_num_threads(THREADS)
    match sys.argv[1:]:
        case ["--peak", time_encoder, walks, side]:
            print_peak(step(time_encoder, int(walks), side))
        case _:
            main()
