"""Formulae of the encoders, standardisation, and the paper's proposition"""

from __future__ import annotations

import math

import pytest
import torch

from chronolink import ChronolinkError, History
from chronolink.history import Neighbours
from chronolink.time_encoder import Plain, Standardise, TimeEncoder, frequencies
from chronolink.time_encoders.cosine import Cosine
from chronolink.time_encoders.cosine_scaled import CosineScaled
from chronolink.time_encoders.linear import Linear
from chronolink.time_encoders.position import Position
from chronolink.time_encoders.sine_cosine import SineCosine
from chronolink.time_encoders.time2vec import Time2vec
from tests.streams import random_graph

ELAPSED = torch.tensor([0.0, 1.0, 59.0, 86_400.0, 3.0e6], dtype=torch.float64)


def fitted(encoder: TimeEncoder) -> TimeEncoder:
    encoder.scale.mean.fill_(1000.0)
    encoder.scale.deviation.fill_(50.0)
    return encoder.double()


def test_linear_is_a_line_a_feature_over_the_standardised_time() -> None:
    encoder = fitted(Linear(7))
    for row, elapsed in zip(encoder(ELAPSED), ELAPSED, strict=True):
        for feature, weight, bias in zip(row, encoder.weight, encoder.bias, strict=True):
            assert feature.item() == pytest.approx(weight.item() * (elapsed.item() - 1000) / 50 + bias.item(), abs=1e-9)


def test_cosine_has_learnt_frequencies_from_1_to_a_billionth_and_no_phase_at_first() -> None:
    encoder = Cosine(10).double()
    assert encoder.weight.tolist() == pytest.approx([10 ** -(9 * i / 9) for i in range(10)], rel=1e-6)
    assert encoder.bias.tolist() == [0.0] * 10
    encoder.bias.data += 0.3
    for row, elapsed in zip(encoder(ELAPSED), ELAPSED.tolist(), strict=True):
        assert row.tolist() == pytest.approx([math.cos(w * elapsed + 0.3) for w in encoder.weight.tolist()], abs=1e-9)


def test_cosine_scaled_is_the_cosine_of_the_standardised_time() -> None:
    encoder = fitted(CosineScaled(5))
    for row, elapsed in zip(encoder(ELAPSED), ELAPSED.tolist(), strict=True):
        assert row.tolist() == pytest.approx([math.cos(w * (elapsed - 1000) / 50) for w in encoder.weight.tolist()])


def test_sine_cosine_gives_inner_products_that_depend_on_the_span_alone() -> None:
    encoder = SineCosine(8).double()
    for row, elapsed in zip(encoder(ELAPSED), ELAPSED.tolist(), strict=True):
        pairs = [f(w * elapsed) for w in encoder.weight.tolist() for f in (math.cos, math.sin)]
        assert row.tolist() == pytest.approx(pairs, abs=1e-9)
    first, second = encoder(torch.tensor([700.0, 100.0])), encoder(torch.tensor([650.0, 50.0]))
    torch.testing.assert_close((first * second).sum(1)[0], (first * second).sum(1)[1])


def test_time2vec_is_one_line_and_cosines_of_the_raw_time() -> None:
    encoder = fitted(Time2vec(4))
    for row, elapsed in zip(encoder(ELAPSED), ELAPSED.tolist(), strict=True):
        line = encoder.line[0].item() * (elapsed - 1000) / 50 + encoder.line[1].item()
        cosines = [math.cos(w * elapsed) for w in encoder.weight.tolist()]
        assert row.tolist() == pytest.approx([line, *cosines], abs=1e-6)


def test_position_counts_events_back_whatever_the_times() -> None:
    past = neighbours()
    encoder = Position(6).double()
    torch.testing.assert_close(encoder.measure(past)[0], torch.tensor([4.0, 3.0, 2.0, 1.0], dtype=torch.float64))
    torch.testing.assert_close(encoder.now(), torch.ones(6, dtype=torch.float64))


def neighbours() -> Neighbours:
    graph = random_graph()
    node, time = torch.arange(graph.num_nodes), graph.events.time[200:220]
    return History(graph).before(node, time, 4)


@pytest.mark.parametrize("encoder", [Linear(9), fitted(Linear(1)), Plain(), fitted(Plain())])
def test_an_affine_encoder_says_its_slopes_and_intercepts(encoder: TimeEncoder) -> None:
    number = encoder.number(ELAPSED)
    basis = encoder.affine()
    assert basis is not None
    torch.testing.assert_close(torch.stack([number, torch.ones_like(number)], -1) @ basis.T, encoder.encode(number))


@pytest.mark.parametrize("encoder", [Cosine(4), CosineScaled(4), SineCosine(4), Position(4), Time2vec(4)])
def test_an_encoder_that_is_not_affine_does_not_say_so(encoder: Cosine) -> None:
    assert encoder.affine() is None


def test_before_a_linear_map_linear_is_the_standardised_time_and_learns_nothing() -> None:
    bare = fitted(Linear(9).before_linear())
    torch.testing.assert_close(bare(ELAPSED), (ELAPSED.unsqueeze(-1) - 1000) / 50)
    assert bare.standardised
    assert not list(bare.parameters())
    cosine = Cosine(4)
    assert cosine.before_linear() is cosine


def test_standardising_takes_the_mean_over_nodes_of_their_mean_elapsed_time() -> None:
    past, scale = neighbours(), Standardise()
    scale.fit(past)
    means = []
    for elapsed, valid in zip(past.elapsed.tolist(), past.valid.tolist(), strict=True):
        known = [e for e, v in zip(elapsed, valid, strict=True) if v]
        means += [sum(known) / len(known)] if known else []
    mean = sum(means) / len(means)
    assert scale.mean.item() == pytest.approx(mean)
    assert scale.deviation.item() == pytest.approx((sum((m - mean) ** 2 for m in means) / len(means)) ** 0.5)


def test_only_standardised_encoders_are_fitted() -> None:
    for encoder, standardised in ((Linear(3), True), (CosineScaled(3), True), (Cosine(3), False), (Position(3), False)):
        encoder.fit(neighbours())
        assert (encoder.scale.deviation.item() != 1.0) == standardised


def test_standardising_survives_a_stream_in_which_nothing_varies() -> None:
    nothing = torch.zeros(3, 2)
    scale = Standardise()
    scale.fit(Neighbours(nothing.long(), nothing.long(), nothing.double(), nothing.double(), nothing.bool()))
    assert (scale.mean.item(), scale.deviation.item()) == (0.0, 1.0)
    scale.fit(Neighbours(nothing.long(), nothing.long(), nothing.double(), nothing.double() + 5, nothing.bool() | True))
    assert (scale.mean.item(), scale.deviation.item()) == (5.0, 1.0)


def test_elapsed_time_is_subtracted_before_it_is_rounded() -> None:
    encoder = Cosine(1)
    late = torch.tensor([1.7e9 + 0.25], dtype=torch.float64) - torch.tensor([1.7e9], dtype=torch.float64)
    assert encoder(late).item() == pytest.approx(math.cos(0.25), abs=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Linear(0), "a time encoder of width 0 is empty"),
        (lambda: SineCosine(5), "sine-cosine takes an even width, not 5; try 6"),
        (lambda: Time2vec(1), "time2vec takes a width of 2 or more"),
    ],
)
def test_an_impossible_width_is_refused_in_one_sentence(make: object, words: str) -> None:
    with pytest.raises(ChronolinkError, match=words):
        make()  # type: ignore[operator]


def test_frequencies_of_one_feature_start_at_one() -> None:
    assert frequencies(1).tolist() == [1.0]


def test_proposition_1_attention_scores_split_into_the_time_span_and_the_rest() -> None:
    """<q_m, k_n> = h(t_m - t_n) + g(q_m, k_n), with the proof's encoder, W_Q and W_K, for any other weights."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    time_width, feature_width, head, events = 5, 3, 6, 9
    encoder = Linear(time_width).double()
    with torch.no_grad():
        encoder.weight.copy_(normal(time_width))
        encoder.bias.copy_(normal(time_width))
        encoder.weight[1], encoder.bias[1] = 0.0, 1.0
        time, asked = normal(events) * 10, 50.0
        token = torch.cat([encoder(asked - time), normal(events, feature_width)], dim=1)
        query_weight, key_weight = normal(time_width + feature_width, head), normal(time_width + feature_width, head)
        query_weight[:, :2] = 0.0
        query_weight[0, 0], query_weight[1, 1] = 1.0, -1.0
        key_weight[:, :2] = 0.0
        key_weight[1, 0], key_weight[0, 1] = 1.0, 1.0
        query, key = token @ query_weight, token @ key_weight
        span = time[:, None] - time[None, :]
        rest = query[:, 2:] @ key[:, 2:].T
        torch.testing.assert_close(query @ key.T, -encoder.weight[0] * span + rest, rtol=0, atol=1e-10)
