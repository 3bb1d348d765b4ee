"""Event sequence classification: the draw, the oracle, the classifiers against the formulae, the figures"""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink.build import build_time_encoder
from chronolink.draws import fold
from chronolink.errors import ChronolinkError
from chronolink.figures import synthetic
from chronolink.layers.dropout import Dropout, reseed
from chronolink.layers.side_by_side import Dropouts
from chronolink.models._sequence_classifier import KINDS, SequenceClassifier
from chronolink.sequence_model import row_keys, with_asked
from chronolink.tasks.event_sequences import EventSequences, Process, draw
from chronolink.training.event_sequences import SequenceTraining, classify

ENCODERS = ["linear", "cosine", "sine_cosine"]
SMALL = Process(sequences=120, events=4)
CALM = Process(sequences=120, events=4, rate=1.0, decay=0.3)  # long times make cosines amplify the rounding
SHORT = SequenceTraining(epochs=3, learning_rate=0.02)


# The draw


def test_waits_features_and_noise_are_distributed_as_the_paper_says() -> None:
    drawn = draw(1, Process(sequences=20_000))
    waits = torch.cat([drawn.time, drawn.asked[:, None]], 1).diff(dim=1, prepend=torch.zeros(20_000, 1))
    assert waits.shape == (20_000, 8)
    assert drawn.time.dtype == drawn.asked.dtype == torch.float64
    for wait in waits.unbind(1):
        assert float(wait.mean()) == pytest.approx(100, rel=0.03)
        assert float(wait.std()) == pytest.approx(100, rel=0.05)
        assert float((wait > 200).double().mean()) == pytest.approx(math.exp(-2), abs=0.01)
    correlation = torch.corrcoef(torch.cat([waits, drawn.feature], 1).T) - torch.eye(15)
    assert float(correlation.abs().max()) < 0.04
    assert drawn.feature.unique().tolist() == [-1, 1]
    assert float(drawn.feature.mean(0).abs().max()) < 0.03
    assert float(drawn.label.double().mean()) == pytest.approx(0.5, abs=0.02)


def test_labels_without_noise_are_the_sign_of_the_decayed_sum() -> None:
    drawn = draw(3, Process(sequences=200, noise=0.0))
    for sequence in range(200):
        t = float(drawn.asked[sequence])
        pairs = zip(drawn.feature[sequence].tolist(), drawn.time[sequence].tolist(), strict=True)
        assert bool(drawn.label[sequence]) == (sum(math.exp(-0.003 * (t - time)) * x for x, time in pairs) > 0)
    assert drawn.oracle() == 1.0


def test_the_oracle_errs_as_often_as_the_noise_turns_a_sum_round() -> None:
    drawn = draw(1, Process(sequences=20_000))
    total = (torch.exp(-0.003 * drawn.elapsed) * drawn.feature).sum(1)
    right = 0.5 * (1 + torch.erf(total.abs() / 0.1 / 2**0.5))  # the chance that noise of deviation 0.1 leaves the sign
    assert drawn.oracle() == pytest.approx(float(right.mean()), abs=0.005)
    assert 0.9 < drawn.oracle() < 0.98


def test_true_attention_is_the_decay_as_shares() -> None:
    drawn = draw(1, SMALL)
    decay = torch.exp(-0.003 * drawn.elapsed)
    torch.testing.assert_close(drawn.true_attention(), decay / decay.sum(1, keepdim=True))


def test_parts_are_70_15_and_15_in_a_hundred_and_all_there_is() -> None:
    drawn = draw(1)
    parts = drawn.parts()
    assert [len(part) for part in parts] == [1400, 300, 300]
    for column in ("feature", "time", "asked", "label"):
        assert torch.equal(torch.cat([getattr(part, column) for part in parts]), getattr(drawn, column))


def test_the_seed_decides_the_sequences() -> None:
    assert torch.equal(draw(4).time, draw(4).time)
    assert not torch.equal(draw(4).time, draw(5).time)


def test_a_process_that_cannot_be_is_refused() -> None:
    with pytest.raises(ChronolinkError, match="events is 0; it must be 1 or more"):
        Process(events=0)
    with pytest.raises(ChronolinkError, match="noise is -1; it must be a number of 0 or more"):
        Process(noise=-1)
    with pytest.raises(ChronolinkError, match="rate is 0"):
        Process(rate=0)
    with pytest.raises(ChronolinkError, match="5 sequences are too few for three parts; draw 6 or more"):
        draw(1, Process(sequences=5)).parts()
    assert [len(part) for part in draw(1, Process(sequences=6)).parts()] == [4, 1, 1]


# The classifiers


def classifier(
    kind: str, encoder: str = "linear", width: int = 4, layers: int = 2, dropout: float = 0.0, seed: int = 3
) -> SequenceClassifier:
    """In double precision, with no parameter at its start value and a scale that is not 1."""
    torch.manual_seed(seed)
    made = KINDS[kind](build_time_encoder(encoder, width=width), layers, dropout).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    if made.time_encoder.standardised:
        made.time_encoder.scale.mean.fill_(400)
        made.time_encoder.scale.deviation.fill_(170)
    return made


def encoded(model: SequenceClassifier, elapsed: float) -> Tensor:
    """phi(elapsed), by the encoder's docstring."""
    own = dict(model.time_encoder.named_parameters())
    weight, scale = own["weight"], model.time_encoder.scale
    if "bias" not in own:
        return torch.stack([f(w * elapsed) for w in weight for f in (torch.cos, torch.sin)])
    z = (elapsed - float(scale.mean)) / float(scale.deviation)
    line = weight * z + own["bias"]
    return line if model.time_encoder.standardised else line.cos()


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    centred = x - x.mean()
    return centred / (centred.square().mean() + 1e-5).sqrt() * weight + bias


def written_out(model: SequenceClassifier, elapsed: Tensor, feature: Tensor, causal: bool) -> Tensor:
    """The logit of one sequence, row by row: softmax(Q K^T / sqrt(d_h)) V, then the feed-forward part."""
    events = [*zip(elapsed.tolist(), feature.tolist(), strict=True), (0.0, 0.0)]
    rows = [torch.cat([encoded(model, past), torch.tensor([x], dtype=torch.float64)]) for past, x in events]
    for layer in model.layers:
        normed = [layer_norm(row, layer.attention_norm.weight, layer.attention_norm.bias) for row in rows]
        projected = [layer.query_key_value.weight @ row + layer.query_key_value.bias for row in normed]
        query, key, value = zip(*(row.chunk(3) for row in projected), strict=True)
        following = []
        for i, row in enumerate(rows):
            seen = range(i + 1) if causal else range(len(rows))
            score = torch.stack([query[i] @ key[j] / len(row) ** 0.5 for j in seen]).exp()
            attended = sum(score[j] * value[j] for j in seen) / score.sum()
            mixed = row + layer.mix.weight @ attended + layer.mix.bias
            wide = layer.wide.weight @ layer_norm(mixed, layer.norm.weight, layer.norm.bias) + layer.wide.bias
            wide = wide * 0.5 * (1 + torch.erf(wide / 2**0.5))
            following.append(mixed + layer.narrow.weight @ wide + layer.narrow.bias)
        rows = following
    found = rows[-1] if causal else torch.stack(rows).mean(0)
    return (model.head.weight @ found + model.head.bias).squeeze()


def asked(model: SequenceClassifier, sequences: EventSequences) -> Tensor:
    logits: Tensor = model(sequences.elapsed, sequences.feature, torch.arange(len(sequences)))
    return logits


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
def test_values_and_gradients_equal_the_formulae(kind: str, encoder: str, layers: int) -> None:
    model, sequences = classifier(kind, encoder, layers=layers), draw(1, SMALL)[:5]
    found = asked(model, sequences)
    pairs = zip(sequences.elapsed, sequences.feature, strict=True)
    expected = torch.stack([written_out(model, elapsed, x, kind == "autoregressive") for elapsed, x in pairs])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    equal_gradients(model, found, expected)


def equal_gradients(model: SequenceClassifier, found: Tensor, expected: Tensor) -> None:
    weight = torch.linspace(-1, 1, len(found), dtype=torch.float64)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(found @ weight, parameters, retain_graph=True)
    for gradient, want in zip(gradients, torch.autograd.grad(expected @ weight, parameters), strict=True):
        torch.testing.assert_close(gradient, want, rtol=0, atol=1e-10 * max(1.0, float(want.abs().max())))


def stacked(
    models: list[SequenceClassifier], sequences: list[EventSequences]
) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    named = [dict(model.named_parameters()) for model in models]
    weights = {name: torch.stack([own[name] for own in named]) for name in named[0]}
    number = [m.time_encoder.number(with_asked(s.elapsed)) for m, s in zip(models, sequences, strict=True)]
    return weights, torch.stack(number), torch.stack([with_asked(s.feature) for s in sequences])


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_models_side_by_side_equal_each_alone(kind: str, encoder: str, layers: int, dropout: float) -> None:
    torch.set_default_dtype(torch.float64)
    models = [classifier(kind, encoder, layers=layers, dropout=dropout, seed=seed) for seed in (1, 2, 3)]
    sequences = [draw(seed, SMALL)[:7] for seed in (1, 2, 3)]
    seed = fold(torch.tensor([1, 2, 3])[:, None, None], 5, 6, torch.arange(4 * layers)).expand(3, 7, -1)
    key = row_keys(torch.arange(7), 5).expand(3, 7, 5)
    dropped = next(m for m in models[0].modules() if isinstance(m, Dropout)).dropped
    (masks,) = models[0].masks(Dropouts(seed, key, dropped), size=7)
    together = models[0].side_by_side(*stacked(models, sequences), masks)
    for number, model in enumerate(models):
        reseed(model, number + 1, 5, 6)
        alone = asked(model, sequences[number])
        torch.testing.assert_close(together[number], alone, rtol=0, atol=1e-10)
        equal_gradients(model, together[number], alone)


@pytest.fixture(autouse=True)
def usual_dtype() -> object:
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_drops_the_same_of_a_sequence_in_any_batch(kind: str) -> None:
    model, sequences = classifier(kind, dropout=0.4), draw(1, SMALL)[:9]
    reseed(model, 1)
    together, key = asked(model, sequences), torch.arange(9)
    alone = model(sequences.elapsed[::2], sequences.feature[::2], key[::2])
    torch.testing.assert_close(alone, together[::2], rtol=0, atol=1e-10)
    reseed(model, 2)
    assert not torch.allclose(asked(model, sequences), together)


@pytest.mark.parametrize(("kind", "sees"), [("autoregressive", False), ("full", True)])
def test_only_full_attention_sees_later_events(kind: str, sees: bool) -> None:
    """What the first layer gives the earlier rows, which the second attends to."""
    model, sequences, given = classifier(kind), draw(1, SMALL)[:3], []
    model.layers[0].register_forward_hook(lambda _module, _rows, rows: given.append(rows.unflatten(0, (3, 5))))
    asked(model, sequences)
    sequences.feature[:, 2] *= -1
    sequences.time[:, 2] += 7
    asked(model, sequences)
    before, after = given
    assert torch.equal(before[:, :2], after[:, :2]) != sees
    assert not torch.equal(before[:, 2:], after[:, 2:])


def test_the_last_row_attends_to_all_events_and_to_itself() -> None:
    model, seen = classifier("autoregressive", layers=1), []
    model.layers[0].attention.register_forward_hook(lambda _module, _rows, shares: seen.append(shares))
    asked(model, draw(1, SMALL)[:3])
    assert seen[0].shape == (1, 3, 1, 5)
    assert bool((seen[0] > 0).all())


# Training


def plain_training(
    kind: str, seed: int, encoder: str, layers: int, training: SequenceTraining
) -> tuple[list[float], list[float]]:
    """The validation losses and test accuracies of one run's epochs, by the plainest loop there is."""
    train, validation, tested = draw(seed, CALM).parts()
    torch.manual_seed(seed)
    model = KINDS[kind](build_time_encoder(encoder, width=2), layers, training.dropout)
    if model.time_encoder.standardised:
        means = train.elapsed.mean(1)
        model.time_encoder.scale.mean.copy_(means.mean())
        model.time_encoder.scale.deviation.copy_(means.std(correction=0))
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    losses, accuracies = [], []
    for epoch in range(1, training.epochs + 1):
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(int(fold(seed, epoch))))
        model.train()
        for step, batch in enumerate(order.split(training.batch_size)):
            reseed(model, seed, epoch, step)
            logits = model(train.elapsed[batch], train.feature[batch], batch)
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(logits, train.label[batch].to(logits.dtype)).backward()
            optimizer.step()
        with torch.no_grad():
            logits = asked(model.eval(), validation)
            accuracies.append(float(((asked(model, tested) > 0) == tested.label).double().mean()))
        losses.append(float(F.binary_cross_entropy_with_logits(logits, validation.label.to(logits.dtype))))
    return losses, accuracies


@pytest.mark.parametrize(("encoder", "layers"), [("linear", 1), ("cosine", 2), ("sine_cosine", 1)])
@pytest.mark.parametrize("kind", KINDS)
def test_runs_trained_together_end_as_each_alone(kind: str, encoder: str, layers: int) -> None:
    """Each with its own batches, sequences and masks; some leave the stack before the others."""
    torch.set_default_dtype(torch.float64)
    training = SequenceTraining(epochs=3, patience=1, learning_rate=0.03, batch_size=8)
    reports = classify(KINDS[kind], encoder, 2, layers, (3, 1, 2), CALM, training)
    for report in reports:
        losses, accuracies = plain_training(kind, report["seed"], encoder, layers, training)
        rises = [n for n in range(1, 3) if losses[n] >= min(losses[:n])]
        last = rises[0] + 1 if rises else 3
        assert report["epochs"] == last
        assert report["validation_loss"] == pytest.approx(min(losses[:last]), abs=1e-9)
        assert report["best_epoch"] == 1 + losses.index(min(losses[:last]))
        assert report["test_accuracy"] == accuracies[report["best_epoch"] - 1]
    if (kind, layers) == ("full", 1):
        assert len({report["epochs"] for report in reports}) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_report(kind: str) -> None:
    torch.manual_seed(0)
    one = classify(KINDS[kind], "linear", 2, 1, (1, 2), SMALL, SHORT)
    torch.manual_seed(99)
    assert classify(KINDS[kind], "linear", 2, 1, (1, 2), SMALL, SHORT) == one
    assert one[0]["validation_loss"] != one[1]["validation_loss"]


def test_a_report_says_all_that_was_decided_and_found() -> None:
    (report,) = classify(KINDS["autoregressive"], "sine-cosine", 4, 1, [7], SMALL, SHORT)
    assert report["settings"]["time_encoder"] == "sine_cosine"
    assert report["settings"]["process"]["events"] == 4
    assert (report["seed"], report["epochs"]) == (7, 3)
    assert report["parameters"] == 2 + (5 * 15 + 15) + (25 + 5) + (100 + 20) + (100 + 5) + 4 * 5 + 6
    assert report["oracle_accuracy"] == draw(7, SMALL).parts()[2].oracle()
    for shares in report["mean_attention"].values():
        assert len(shares) == 4
        assert sum(shares) == pytest.approx(1, abs=1e-9)


def test_attention_is_reported_where_one_layer_reads_the_last_row() -> None:
    for kind, layers in (("full", 1), ("autoregressive", 2)):
        (report,) = classify(KINDS[kind], "linear", 2, layers, [1], SMALL, SequenceTraining(epochs=1))
        assert "mean_attention" not in report


def test_the_tested_weights_are_those_of_the_best_epoch() -> None:
    """Epochs after the best one change nothing in the test."""
    patient = SequenceTraining(epochs=12, learning_rate=0.1, patience=12)
    (report,) = classify(KINDS["full"], "cosine", 2, 1, [2], SMALL, patient)
    assert 1 < report["best_epoch"] < 12
    until = SequenceTraining(epochs=report["best_epoch"], learning_rate=0.1)
    (shorter,) = classify(KINDS["full"], "cosine", 2, 1, [2], SMALL, until)
    for number in ("best_epoch", "validation_loss", "test_accuracy"):
        assert report[number] == shorter[number]


def test_a_linear_encoding_learns_what_a_coin_does_not_know() -> None:
    process = Process(sequences=600, events=3)
    (report,) = classify(KINDS["autoregressive"], "linear", 2, 1, [1], process, SequenceTraining(1e-2, epochs=15))
    assert report["test_accuracy"] > 0.85
    assert report["oracle_accuracy"] > 0.9


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(ChronolinkError, match="no time encoder named 'linaer'; did you mean 'linear'"):
        classify(KINDS["full"], "linaer")
    with pytest.raises(ChronolinkError, match="give at least one, each once"):
        classify(KINDS["full"], seeds=[1, 1])
    with pytest.raises(ChronolinkError, match="Time2vec cannot be stacked; take linear, cosine or sine-cosine"):
        classify(KINDS["full"], "time2vec", process=SMALL, training=SHORT)


# The figures


def panels() -> dict[str, synthetic.Panel]:
    curves = {name: {width: [0.8, 0.82, 0.9] for width in (2, 4, 8, 16)} for name in ENCODERS}
    return {f"{layers}, {kind}": curves for layers in ("1 layer", "2 layers") for kind in KINDS}


def test_accuracies_are_drawn_with_their_spread_and_the_oracle() -> None:
    figure = synthetic.accuracies(panels(), oracle=0.95)
    figure.canvas.draw()
    assert [area.get_title(loc="left") for area in figure.axes] == list(panels())
    for area in figure.axes:
        *lines, oracle = area.lines
        assert [line.get_label() for line in lines] == ENCODERS
        assert np.allclose(lines[0].get_ydata(), 0.84)
        assert np.allclose(oracle.get_ydata(), 0.95)
        band = area.collections[0].get_paths()[0].vertices[:, 1]
        assert (band.min(), band.max()) == pytest.approx((0.84 - 0.052915, 0.84 + 0.052915), abs=1e-4)
        assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 3


def test_attention_is_drawn_beside_the_true_one() -> None:
    figure = synthetic.attention({"2": [0.2, 0.3, 0.5], "8": [0.1, 0.3, 0.6]}, true=[0.1, 0.2, 0.7])
    figure.canvas.draw()
    for area, learnt in zip(figure.axes, ([0.2, 0.3, 0.5], [0.1, 0.3, 0.6]), strict=True):
        assert list(area.lines[0].get_ydata()) == learnt
        assert [bar.get_height() for bar in area.patches] == [0.1, 0.2, 0.7]


def test_the_figures_import_no_torch() -> None:
    source = Path(synthetic.__file__)
    program = f"import runpy, sys; runpy.run_path({str(source)!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
