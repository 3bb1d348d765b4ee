"""A test with all kinds of negatives in one pass against a pass for each, on UCI"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import get_args

import torch
from accelerate import Accelerator

from _side_by_side import THREADS, Step, in_turns, row
from chronolink import Split, build, load
from chronolink.allocator import keep_buffers
from chronolink.negatives import NegativesName
from chronolink.tasks.link_prediction import LinkPrediction
from chronolink.training.evaluate import verdicts

MODELS = ("tgat", "dygdecoder", "tgn", "graphmixer")
KINDS: tuple[NegativesName, ...] = get_args(NegativesName)


def test(model: str, task: LinkPrediction, passes: Sequence[Sequence[NegativesName]]) -> Step:
    """The mean AP over the kinds."""
    built = build(model, task.graph, time_encoder="linear")
    built.prepare(task.train, task.train_history)

    def step() -> float:
        found = [verdicts(built, task, Accelerator(cpu=True), negatives=kinds) for kinds in passes]
        return statistics.mean(verdict.all["ap"] for kinds in found for verdict in kinds.values())

    return step


if __name__ == "__main__":
    keep_buffers()
    torch.set_num_threads(THREADS)
    graph = load("uci")
    task = LinkPrediction(graph, Split.of(graph))
    print(f"test split, {', '.join(KINDS)} negatives, {THREADS} threads, linear time")
    row("model", "one pass, s", "a pass each, s", "ratio")
    for model in MODELS:
        once, each = (test(model, task, passes) for passes in ([KINDS], [[kind] for kind in KINDS]))
        ours, twin = in_turns(once, each, rounds=3, ours_a_round=1)
        row(model, ours, twin, twin / ours)
