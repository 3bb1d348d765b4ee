"""One training step of the DyGFormer family against the padded way"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from tests.twins.padded_dygformer import PaddedFirstHop

from _side_by_side import DROPOUT, THREADS, Batch, Step, in_turns, peak_megabytes, print_peak, row, training_step
from chronolink import build
from chronolink.allocator import keep_buffers
from chronolink.layers.sequences import Sequences
from chronolink.models._first_hop import FirstHop

MODELS = {"dygformer": 2.5, "dygformer-separate": 2.5, "dygdecoder": 4.0}
SIZES = [("uci", 32, 1), ("enron", 256, 8), ("uslegis", 256, 8), ("lastfm-first", 512, 16)]


def made(model: str, data: str, length: int, patch: int) -> tuple[FirstHop, Batch]:
    batch = Batch.of(data)
    built = build(model, batch.history.graph, time_encoder="linear", dropout=DROPOUT, length=length, patch=patch)
    assert isinstance(built, FirstHop)
    built.prepare(batch.train, batch.history)
    return built, batch


def step(model: str, data: str, length: int, patch: int, side: str) -> Step:
    built, batch = made(model, data, length, patch)
    twin = PaddedFirstHop(built, batch.history, DROPOUT)
    ask = {"ours": lambda: built(batch.query, batch.history), "twin": lambda: twin(batch.query)}
    return training_step(built, ask[side])


def needed(model: str, data: str, length: int, patch: int) -> tuple[float, int]:
    """Floating-point operations of the layers' matrix products in a training step, and the packed rows."""
    built, batch = made(model, data, length, patch)
    found = Sequences.of(batch.query, batch.history, built.time_encoder, length, patch)
    rows, width, heads = len(found.sequence), built.out.in_features, built.layers[0].heads
    few = built.rows(found, batch.history, 2 * len(batch.query)).tokens.numbers.shape[1] + 1
    first = heads * few * (few + width) + 8 * width * width  # no row is projected in the first layer
    other = (3 + 1 + 8) * width * width
    last = 0 if model == "dygdecoder" else other  # of one row a sequence
    return 3 * 2.0 * rows * (first + (len(built.layers) - 2) * other + last), rows


def plain_speed(rows: int, width: int = 200) -> float:
    """GFLOP/s of the widest product of a layer alone."""
    left, right = torch.randn(rows, width), torch.randn(width, 4 * width)
    taken = []
    for _ in range(9):
        begun = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - begun)
    return 2e-9 * rows * width * 4 * width / statistics.median(taken)


@contextmanager
def apart(*words: str) -> Iterator[Step]:
    """The step in a process of its own."""
    command = [sys.executable, __file__, "--steps", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        asked, answers = worker.stdin, worker.stdout

        def step() -> float:
            print(file=asked, flush=True)
            return float(answers.readline())

        yield step


def table(allocator: str, sizes: list[tuple[str, int, int]]) -> None:
    """Ours as the command line runs it, with large buffers kept; the twin under this setting of the allocator."""
    print(f"\nthe twin's allocator: {allocator}; batches of 200, {THREADS} threads, linear time, dropout {DROPOUT}")
    row("model", "data", "length", "ours, s", "twin, s", "ratio", "target", "GFLOP/s", "plain", "share", "MB, share")
    for data, length, patch in sizes:
        for model, target in MODELS.items():
            sides = [
                (setting, model, data, str(length), str(patch), side)
                for setting, side in (("kept", "ours"), (allocator, "twin"))
            ]
            with apart(*sides[0]) as our_step, apart(*sides[1]) as twin_step:
                ours, twin = in_turns(our_step, twin_step, rounds=5, ours_a_round=1)
            operations, rows = needed(model, data, length, patch)
            speed, plain = operations * 1e-9 / ours, plain_speed(rows)
            memory = [peak_megabytes(__file__, *words) for words in sides]
            row(
                model,
                data,
                f"{length}/{patch}",
                ours,
                twin,
                twin / ours,
                f">= {target}" if data == "uci" else "",
                speed,
                plain,
                speed / plain,
                memory[0] / memory[1],
            )


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    if "kept" in sys.argv:
        keep_buffers()
    match sys.argv[1:]:
        case ["--peak", _, model, data, length, patch, side]:
            print_peak(step(model, data, int(length), int(patch), side))
        case ["--steps", _, model, data, length, patch, side]:
            taken = step(model, data, int(length), int(patch), side)
            for _ in sys.stdin:
                print(taken(), flush=True)
        case asked:  # names of data sets, or none for all
            print("GFLOP/s: needed operations of the layers' products a second; plain: one such product alone")
            print("allocator: kept, as the command line sets it, or default, as it comes and the paper's code has it")
            for allocator in ("kept", "default"):
                table(allocator, [size for size in SIZES if not asked or size[0] in asked])
