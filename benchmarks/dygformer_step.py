"""One training step of the DyGFormer family against the padded way"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from tests.twins.padded_dygformer import PaddedFirstHop

from _side_by_side import (
    DROPOUT,
    THREADS,
    Batch,
    Step,
    in_turns,
    peak_megabytes,
    print_peak,
    row,
    seconds,
    training_step,
)
from chronolink import build
from chronolink.allocator import keep_buffers
from chronolink.layers.product import product
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


def products(model: str, data: str, length: int, patch: int) -> tuple[int, list[tuple[int, int]]]:
    """The packed rows, and what a step must multiply them by: widths of the layers' products, in and out."""
    built, batch = made(model, data, length, patch)
    found = Sequences.of(batch.query, batch.history, built.time_encoder, length, patch)
    rows, width, heads = len(found.sequence), built.out.in_features, built.layers[0].heads
    few = heads * (built.rows(found, batch.history, 2 * len(batch.query)).tokens.numbers.shape[1] + 1)
    forward = [(width, 4 * width), (4 * width, width)]
    first = [(few // heads, few), (few, width), *forward]  # no row is projected in the first layer
    others = len(built.layers) - (2 if model == "dygdecoder" else 1)  # of the decoder's last layer one row a sequence
    return rows, first + [(width, 3 * width), (width, width), *forward] * others


def alone(rows: int, widths: list[tuple[int, int]]) -> tuple[float, float]:
    """Seconds of these products and of those of their gradients with nothing between them, by `torch.mm`, which then
    has nothing to allocate, and by `product`.
    """
    plain, ours = 0.0, 0.0
    for wide, narrow in widths:
        left, weight, out = torch.randn(rows, wide), torch.randn(wide, narrow), torch.randn(rows, narrow)
        for given in ((left, weight), (out, weight.T), (left.T, out)):
            plain += typical(partial(torch.mm, *given, out=torch.mm(*given)))
        operands = left.requires_grad_(), weight.T.contiguous().requires_grad_()
        found = product(*operands)
        ours += typical(partial(product, *operands))
        ours += typical(partial(torch.autograd.grad, found, operands, out, retain_graph=True))
    return plain, ours


def typical(work: Callable[[], object]) -> float:
    """Median seconds."""
    return statistics.median(seconds(work) for _ in range(7))


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
    """Both sides under the same setting of the allocator."""
    print(f"\nallocator: {allocator}; batches of 200, {THREADS} threads, linear time, dropout {DROPOUT}")
    row(
        "model",
        "data",
        "length",
        "ours, s",
        "twin, s",
        "ratio",
        "target",
        "torch.mm, s",
        "share",
        "product, s",
        "share",
        "GFLOP/s",
        "MB, share",
    )
    for data, length, patch in sizes:
        for model, target in MODELS.items():
            words = (allocator, model, data, str(length), str(patch))
            with apart(*words, "ours") as our_step, apart(*words, "twin") as twin_step:
                ours, twin = in_turns(our_step, twin_step, rounds=5, ours_a_round=2)
            rows, widths = products(model, data, length, patch)
            plain, fast = alone(rows, widths)
            operations = 6.0 * rows * sum(wide * narrow for wide, narrow in widths)
            memory = [peak_megabytes(__file__, *words, side) for side in ("ours", "twin")]
            row(
                model,
                data,
                f"{length}/{patch}",
                ours,
                twin,
                twin / ours,
                f">= {target}" if data == "uci" else "",
                plain,
                plain / ours,
                fast,
                fast / ours,
                operations * 1e-9 / ours,
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
            print("torch.mm, product: the layers' needed products alone, by either; share: of our step")
            print("GFLOP/s: of these products in our step")
            print("allocator: default, as it comes and the paper's code has it, or kept, as the command line sets it")
            for allocator in ("default", "kept"):
                table(allocator, [size for size in SIZES if not asked or size[0] in asked])
