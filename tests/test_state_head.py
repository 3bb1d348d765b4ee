"""The head on embeddings: its formula, its training, its choice"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from chronolink import ChronolinkError
from chronolink.layers.dropout import reseed
from chronolink.layers.state_head import StateHead
from chronolink.tasks.node_classification import NodeClassification
from chronolink.training import head as training_head
from chronolink.training.head import HeadTraining, answers, train_head
from tests.test_node_classification import labelled, whole


def test_the_head_is_its_formula() -> None:
    torch.manual_seed(0)
    head, row = StateHead(7, 0.5).double().eval().requires_grad_(False), torch.randn(7, dtype=torch.float64)
    hidden = [max(0.0, float(row @ w + b)) for w, b in zip(head.first.weight, head.first.bias, strict=True)]
    second = torch.tensor(hidden, dtype=torch.float64)
    hidden = [max(0.0, float(second @ w + b)) for w, b in zip(head.second.weight, head.second.bias, strict=True)]
    expected = sum(h * float(w) for h, w in zip(hidden, head.out.weight[0], strict=True)) + float(head.out.bias)
    assert float(head(row.unsqueeze(0), torch.zeros(1, dtype=torch.int64))) == pytest.approx(expected, abs=1e-12)
    assert [head.first.out_features, head.second.out_features] == [80, 10]


def test_the_heads_dropout_belongs_to_events_and_to_the_seed() -> None:
    head, rows, key = StateHead(7, 0.5).double(), torch.randn(40, 7, dtype=torch.float64), torch.arange(40)
    reseed(head, 1)
    together = head(rows, key)
    torch.testing.assert_close(together[20:], head(rows[20:], key[20:]), rtol=0, atol=1e-12)
    reseed(head, 2)
    assert not torch.allclose(together, head(rows, key))
    assert torch.equal(head.eval()(rows, key), head(rows, key + 1))


def learnable_rows(task: NodeClassification, noise: float = 1.0) -> Tensor:
    drawn = torch.randn(len(task.state), 4, generator=torch.Generator().manual_seed(3))
    return noise * drawn + task.state.unsqueeze(1)


def test_the_head_trains_as_a_plain_loop_does() -> None:
    task, options = whole(labelled()), HeadTraining(epochs=3, batch_size=64, dropout=0.0, learning_rate=1e-2)
    rows = learnable_rows(task)
    found = train_head(rows, task, options, seed=5)
    torch.manual_seed(5)
    twin = StateHead(4, 0.0)
    optimizer, aucs = torch.optim.Adam(twin.parameters(), lr=1e-2), []
    for _ in range(3):
        for start in range(0, task.part("train").stop, 64):
            batch = range(start, min(start + 64, task.part("train").stop))
            logits = torch.stack([twin(rows[n : n + 1], torch.tensor([n]))[0] for n in batch])
            likely = [
                torch.sigmoid(x) if task.state[n] else 1 - torch.sigmoid(x) for n, x in zip(batch, logits, strict=True)
            ]
            optimizer.zero_grad()
            (-torch.stack(likely).log().mean()).backward()
            optimizer.step()
        aucs.append(task.judge("validation", answers(twin, rows, task.part("validation")))["auc"])
    assert [record["validation_auc"] for record in found.epochs] == pytest.approx(aucs, abs=1e-3)
    assert found.auc == max(record["validation_auc"] for record in found.epochs)


def test_the_best_epoch_is_kept_and_patience_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    task, seeds = whole(labelled()), []
    aucs = iter([0.5, 0.7, 0.6, 0.7, 0.65, 0.9])

    def judged(_part: str, _scores: Tensor) -> dict[str, float]:
        return {"auc": next(aucs)}

    def epoch(head: StateHead, *_others: object) -> float:
        seeds.append(head.dropouts[0].seed)
        head.out.bias.data.fill_(len(seeds))
        return 0.0

    monkeypatch.setattr(task, "judge", judged)
    monkeypatch.setattr(training_head, "_epoch", epoch)
    found = train_head(learnable_rows(task), task, HeadTraining(patience=3), seed=1)
    assert (found.epoch, found.auc, len(found.epochs)) == (2, 0.7, 5)
    assert found.head.out.bias.item() == 2.0
    assert len(set(seeds)) == 5


def test_what_the_head_never_sees_changes_nothing() -> None:
    """Validation only chooses the epoch, and the test events play no part at all."""
    task, options = whole(labelled()), HeadTraining(epochs=4)
    rows = learnable_rows(task)
    changed = rows.clone()
    changed[task.part("test")] += 100.0
    first, second = (train_head(given, task, options, seed=1) for given in (rows, changed))
    assert first.epochs == second.epochs
    flipped = whole(labelled())
    flipped.state[flipped.part("test")] ^= True
    assert train_head(rows, flipped, options, seed=1).epochs == first.epochs
    flipped.state[flipped.part("validation")] ^= True
    assert [r["loss"] for r in train_head(rows, flipped, options, 1).epochs] == [r["loss"] for r in first.epochs]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epochs": 0}, "head.epochs is 0; it must be 1 or more"),
        ({"patience": 0}, "head.patience is 0"),
        ({"batch_size": -1}, "head.batch_size is -1"),
        ({"learning_rate": 0.0}, "head.learning_rate is 0.0; it must be above 0"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and below 1"),
    ],
)
def test_impossible_options_of_the_head_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ChronolinkError, match=words):
        HeadTraining(**options)
