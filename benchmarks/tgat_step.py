"""One TGAT training step on UCI against the paper's padded way"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.twins.tgat import PaddedTgat

from chronolink import History, LinkQuery, Split, build, load
from chronolink.allocator import keep_buffers
from chronolink.layers.dropout import reseed
from chronolink.models.tgat import Tgat
from chronolink.negatives import RandomNegatives

BATCH, DROPOUT, THREADS = 200, 0.1, 2
TARGETS = {"linear": 50, "cosine": 25}

Step = Callable[[], float]


def steps(time_encoder: str) -> dict[str, Step]:
    """A training step (forward, backward, Adam) of ours and of the twin, with equal weights and questions."""
    graph = load("uci")
    train = Split.of(graph).train(graph.events)
    history = History(graph.cut(train))
    start = len(train) // 2 // BATCH * BATCH
    events = train[start : start + BATCH]
    negatives = RandomNegatives(train, graph.num_nodes).beside(train, seed=1)[start : start + BATCH]
    query = LinkQuery.of(events) + negatives
    happened = torch.cat([torch.ones(BATCH), torch.zeros(BATCH)])
    made: dict[str, Step] = {}
    for name in ("ours", "twin"):
        model = build("tgat", graph, time_encoder=time_encoder, dropout=DROPOUT)
        assert isinstance(model, Tgat)
        model.prepare(train, history)
        made[name] = _step(model, history, query, happened, twin=name == "twin")
    return made


def _step(model: Tgat, history: History, query: LinkQuery, happened: Tensor, twin: bool) -> Step:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    padded = PaddedTgat(model, history, DROPOUT) if twin else None

    def step() -> float:
        optimizer.zero_grad()
        reseed(model, 1)
        logits = model(query, history) if padded is None else padded(query)
        loss = F.binary_cross_entropy_with_logits(logits, happened)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def seconds(step: Step, repeats: int) -> float:
    """The median: the machine may be shared."""
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        step()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def peak_of_one_step(time_encoder: str, side: str) -> int:
    """Bytes that a first step adds to the resident memory of a fresh process, at the peak."""
    command = [sys.executable, __file__, "--peak", time_encoder, side]
    return int(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def _print_peak(time_encoder: str, side: str) -> None:
    step = steps(time_encoder)[side]
    ctypes.CDLL(None).malloc_trim(0)  # what set-up has freed must not hide what the step takes
    Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the peak so far
    before = _resident("VmRSS")
    step()
    print(_resident("VmHWM") - before)


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def main() -> None:
    torch.set_num_threads(THREADS)
    print(f"batch {BATCH} from the middle of the training split, {THREADS} threads, dropout {DROPOUT}, float32")
    columns = ("ours, s", "twin, s", "ratio", "target", "ours, MB", "twin, MB", "share")
    print(f"{'time':<8}" + "".join(f"{column:>10}" for column in columns))
    for time_encoder, target in TARGETS.items():
        side = steps(time_encoder)
        losses = [step() for step in side.values()]
        assert abs(losses[0] - losses[1]) < 0.02, f"ours and twin differ: {losses}"  # other dropout masks
        side["ours"]()
        ours, twin = [], []
        for _ in range(3):  # side by side, so that both meet the same neighbours on the machine
            twin.append(seconds(side["twin"], 1))
            ours.append(seconds(side["ours"], 15))
        mine, theirs = statistics.median(ours), statistics.median(twin)
        memory = [peak_of_one_step(time_encoder, name) / 1e6 for name in ("ours", "twin")]
        print(
            f"{time_encoder:<8}{mine:>10.4f}{theirs:>10.2f}{theirs / mine:>10.1f}{target:>10}"
            f"{memory[0]:>10.0f}{memory[1]:>10.0f}{memory[0] / memory[1]:>10.3f}"
        )
    print("memory: what one step adds at its peak; target: a share of 0.25 at most")


if __name__ == "__main__":
    keep_buffers()
    parser = argparse.ArgumentParser()
    parser.add_argument("--peak", nargs=2)
    peak = parser.parse_args().peak
    _print_peak(*peak) if peak else main()
