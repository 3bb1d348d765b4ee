"""Attention with its times, against one sequence at a time"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from chronolink import ChronolinkError, build
from chronolink.analysis.ages import by_age, quarters
from chronolink.analysis.attention import AttentionScores, Bins, Cells, attention_scores, average
from chronolink.events import EventStream, TemporalGraph
from chronolink.figures.attention import draw
from chronolink.history import History
from chronolink.layers.transformer import TransformerLayer
from chronolink.models._first_hop import FirstHop
from chronolink.models.dygdecoder import Dygdecoder
from chronolink.models.dygformer import Dygformer
from chronolink.query import LinkQuery
from tests.streams import random_graph
from tests.test_dygformer import FAMILY, first_hop, questions
from tests.twins import dygformer as twin

Row = tuple[float, float, float, bool, bool, bool]
Token = tuple[float, bool | None]  # elapsed, and whether it is the source's; None of a beginning


def slow_times(model: FirstHop, node: int, time: float, graph: TemporalGraph) -> list[float]:
    """How far back each patch of a node's sequence is, by a loop over all events."""
    stream = graph.events
    columns = zip(stream.source.tolist(), stream.destination.tolist(), stream.time.tolist(), strict=True)
    past = [time - when for *ends, when in columns if node in ends and when < time]
    elapsed = [*past[-(model.length - 1) :], 0.0]
    patches = [elapsed[start : start + model.patch] for start in range(0, len(elapsed), model.patch)]
    return [sum(patch) / len(patch) for patch in patches]


def slow_attention(layer: TransformerLayer, rows: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """The mean over the heads of softmax(Q K^T / sqrt(d)), and what the layer makes of its rows."""
    parts = layer.query_key_value(layer.attention_norm(rows)).chunk(3, dim=1)
    attention, mixed = [], []
    for query, key, value in zip(*(part.chunk(layer.heads, dim=1) for part in parts), strict=True):
        scores = query @ key.T / query.shape[1] ** 0.5
        hidden = torch.ones_like(scores).triu(1).bool() if causal else torch.zeros_like(scores).bool()
        attention.append(torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=1))
        mixed.append(attention[-1] @ value)
    rows = rows + layer.mix(torch.cat(mixed, dim=1))
    rows = rows + layer.narrow(F.gelu(layer.wide(layer.norm(rows))))
    return torch.stack(attention).mean(0), rows


def slow_group(model: FirstHop, rows: Tensor, tokens: list[Token], layer: int) -> list[Row]:
    """Rows that attend to each other, with their times written beside them."""
    causal = isinstance(model, Dygdecoder)
    if causal:
        rows, tokens = torch.cat([model.beginning.unsqueeze(0), rows]), [(np.nan, None), *tokens]
    for each in list(model.layers)[: layer % len(model.layers) + 1]:
        weights, rows = slow_attention(each, rows, causal)
    found = []
    for query, (elapsed_query, source) in enumerate(tokens):
        for key, (elapsed_key, of_source) in enumerate(tokens):
            if source is not None and (key <= query or not causal):
                own = of_source is None or of_source == source
                asked = query == len(tokens) - 1 or tokens[query + 1][1] != source
                found.append((elapsed_query, elapsed_key, weights[query, key].item(), source, own, asked))
    return found


def slow_scores(model: FirstHop, query: LinkQuery, history: History, layer: int) -> list[Row]:
    groups: dict[bool, list[list[Row]]] = {True: [], False: []}
    for first, second, time in zip(query.source.tolist(), query.destination.tolist(), query.time, strict=True):
        ends = {True: (first, second), False: (second, first)}
        events = {side: twin._neighbours(model, *pair, time, history) for side, pair in ends.items()}
        counts = twin.counts(events[True][0], events[False][0])
        rows = {side: twin._tokens(model, *events[side], counts[not side], history) for side in ends}
        times = {side: slow_times(model, ends[side][0], float(time), history.graph) for side in ends}
        tokens: dict[bool, list[Token]] = {side: [(elapsed, side) for elapsed in times[side]] for side in ends}
        if isinstance(model, Dygformer):
            both = torch.cat([rows[True], rows[False]])
            groups[True].append(slow_group(model, both, tokens[True] + tokens[False], layer))
        else:
            for side in ends:
                groups[side].append(slow_group(model, rows[side], tokens[side], layer))
    return [row for side in groups.values() for group in side for row in group]


def steps(nodes: int = 6, events: int = 80) -> TemporalGraph:
    """No two events at one time."""
    ends = torch.randint(nodes, (2, events), generator=torch.Generator().manual_seed(2))
    return TemporalGraph.of(EventStream.sorted(ends[0], ends[1], torch.arange(events, dtype=torch.float64)))


def late(graph: TemporalGraph, count: int = 1) -> LinkQuery:
    return LinkQuery.of(graph.events[-count:])


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize("patch", [1, 3])
@pytest.mark.parametrize("layer", [0, 1, -1])
@pytest.mark.parametrize("time_encoder", ["linear", "sine_cosine", "position"])
def test_scores_and_times_equal_the_appendix(model: str, patch: int, layer: int, time_encoder: str) -> None:
    graph = random_graph(node_width=3, edge_width=2, dtype=torch.float64)
    history, query = History(graph), questions(graph)
    built = first_hop(model, graph, time_encoder, patch=patch)
    found = attention_scores(built, history, query, layer)
    expected = [np.array(column) for column in zip(*slow_scores(built, query, history, layer), strict=True)]
    for name, column in zip(("elapsed_query", "elapsed_key", "score"), expected, strict=False):
        np.testing.assert_allclose(getattr(found, name), column, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(found.source, expected[3])
    np.testing.assert_array_equal(found.own, expected[4])
    np.testing.assert_array_equal(found.asked, expected[5])


@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize("layer", [0, 1])
def test_the_scores_of_a_query_sum_to_one(model: str, layer: int) -> None:
    graph = steps()
    found = attention_scores(first_hop(model, graph, patch=2), History(graph), late(graph), layer)
    _, query = np.unique(np.stack([found.elapsed_query, found.source]), axis=1, return_inverse=True)
    sums = np.bincount(query.ravel(), weights=found.score)
    assert len(sums) == 8
    np.testing.assert_allclose(sums, 1.0)


def test_only_dygdecoder_is_blind_to_later_keys() -> None:
    graph = random_graph(dtype=torch.float64)
    history, query = History(graph), questions(graph)
    for model in FAMILY:
        found = attention_scores(first_hop(model, graph), history, query)
        later = found.elapsed_key < found.elapsed_query
        assert later.any() != (model == "dygdecoder")


def test_only_dygformer_looks_into_the_other_sequence() -> None:
    graph = random_graph(dtype=torch.float64)
    history, query = History(graph), questions(graph)
    for model in FAMILY:
        assert attention_scores(first_hop(model, graph), history, query).own.all() != (model == "dygformer")


def test_a_node_without_a_past_attends_to_the_asked_event() -> None:
    graph = steps()
    query = LinkQuery(torch.tensor([0]), torch.tensor([1]), torch.tensor([-1.0], dtype=torch.float64))
    alone = attention_scores(first_hop("dygformer_separate", graph), History(graph), query)
    assert alone.elapsed_query.tolist() == alone.elapsed_key.tolist() == [0.0, 0.0]
    assert alone.score.tolist() == [1.0, 1.0]
    begun = attention_scores(first_hop("dygdecoder", graph), History(graph), query)
    np.testing.assert_array_equal(begun.elapsed_key, [np.nan, 0.0, np.nan, 0.0])
    assert begun.source.tolist() == [True, True, False, False]


def test_the_asked_row_is_the_one_that_dygdecoder_predicts_from() -> None:
    graph, seen = steps(), []
    built, query = first_hop("dygdecoder", graph), late(graph)
    hook = built.layers[-1].attention.register_forward_hook(lambda _module, _inputs, weights: seen.append(weights))
    built(query, History(graph))
    hook.remove()
    found = attention_scores(built, History(graph), query)
    read = found.score[found.elapsed_query == 0]
    np.testing.assert_allclose(read, seen[0].mean(0).flatten().detach().numpy(), atol=1e-12)


def test_reading_leaves_no_trace_and_no_dropout() -> None:
    graph = random_graph(dtype=torch.float64)
    built = first_hop("dygformer", graph, dropout=0.5)
    history, query = History(graph), questions(graph)
    calm = attention_scores(built.eval(), history, query)
    busy = attention_scores(built.train(), history, query)
    np.testing.assert_array_equal(calm.score, busy.score)
    assert all(module.training for module in built.modules())
    assert not built.layers[-1].attention._forward_hooks


def test_the_seed_draws_the_events() -> None:
    graph = steps(events=400)
    built, history = first_hop("dygformer_separate", graph, length=3), History(graph)
    first, again, other = (attention_scores(built, history, graph.events, most=20, seed=seed) for seed in (1, 1, 2))
    assert len(first) == len(again) <= 20 * 2 * 9
    np.testing.assert_array_equal(first.score, again.score)
    assert len(first) != len(other) or not np.array_equal(first.score, other.score)


def test_many_events_are_read_as_each_of_them_alone() -> None:
    graph = steps(events=70)
    built, history = first_hop("dygdecoder", graph), History(graph)
    together = attention_scores(built, history, graph.events)
    alone = [attention_scores(built, history, graph.events[place : place + 1]) for place in range(70)]
    scores = np.concatenate([part.score for part in alone])
    np.testing.assert_allclose(np.sort(together.score), np.sort(scores), atol=1e-12)


def test_what_cannot_be_read_is_refused_in_one_sentence() -> None:
    graph = random_graph()
    history = History(graph)
    with pytest.raises(ChronolinkError, match="Tgat attends to no sequence of events; take one of"):
        attention_scores(build("tgat", graph), history, graph.events)
    with pytest.raises(ChronolinkError, match="there is no layer 2; the model has 2, counted from 0"):
        attention_scores(build("dygformer", graph), history, graph.events, layer=2)
    with pytest.raises(ChronolinkError, match="events is 0; it must be 1 or more"):
        attention_scores(build("dygformer", graph), history, graph.events[:0])


def hand_made(*rows: tuple[float, float, float]) -> AttentionScores:
    query, key, score = (np.array(column) for column in zip(*rows, strict=True))
    yes = np.ones(len(rows), dtype=bool)
    return AttentionScores(query, key, score, yes, yes, yes)


def test_few_times_have_a_cell_a_pair() -> None:
    scores = hand_made((0, 0, 0.2), (0, 0, 0.4), (0, 1, 0.5), (1, 3, 0.7), (3, 0, 0.1), (3, np.nan, 0.9))
    cells = average(scores, Bins.of(scores))
    assert cells.bins.edges.tolist() == [-0.5, 0.5, 2.0, 4.0]
    np.testing.assert_allclose(cells.mean, [[0.3, 0.5, np.nan], [np.nan, np.nan, 0.7], [0.1, np.nan, np.nan]])
    assert cells.count.tolist() == [[2, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_one_time_has_one_cell() -> None:
    scores = hand_made((0, 0, 1.0), (0, np.nan, 0.5))
    assert average(scores, Bins.of(scores)).mean.tolist() == [[1.0]]


def test_many_times_share_cells_that_grow_and_the_asked_event_has_its_own() -> None:
    elapsed = np.append(0.0, np.geomspace(1, 1000, 200))
    assert Bins.of(hand_made(*((each, each, 0.5) for each in elapsed))).logarithmic
    bins = Bins.logarithm(np.append(0.0, np.repeat([1.0, 1000.0], 50)), 4)
    np.testing.assert_allclose(bins.edges, [0, 1, 10, 100, 1000])
    assert bins.place(np.array([0, 0.9, 1, 9, 11, 1000, 1001, -1, np.nan])).tolist() == [0, 0, 1, 1, 2, 3, -1, -1, -1]


def test_rare_times_share_the_outer_bins() -> None:
    bins = Bins.logarithm(np.concatenate([[0.0, 0.01, 5000.0], np.repeat([1.0, 1000.0], 500)]), 4)
    np.testing.assert_allclose(bins.edges, [0, 0.01, 10, 100, 5000])
    assert Bins.logarithm(np.zeros(3), 2).edges.tolist() == [0, 1, 2]


def test_cells_equal_a_plain_loop() -> None:
    graph = random_graph(dtype=torch.float64)
    scores = attention_scores(first_hop("dygdecoder", graph), History(graph), graph.events)
    for bins in (Bins.of(scores), Bins.even(scores.elapsed_query, 7)):
        cells = average(scores, bins)
        place = np.digitize(np.stack([scores.elapsed_query, scores.elapsed_key]), [*bins.edges[:-1], np.inf]) - 1
        for row, column in np.ndindex(cells.mean.shape):
            inside = scores.score[(place[0] == row) & (place[1] == column) & ~np.isnan(scores.elapsed_key)]
            assert cells.count[row, column] == len(inside)
            np.testing.assert_allclose(cells.mean[row, column], inside.mean() if len(inside) else np.nan)


def test_ages_are_quarters_of_what_the_asked_event_looks_at() -> None:
    past = [(0.0, age, age / 100) for age in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)]
    scores = hand_made((0, 0, 0.9), (0, np.nan, 0.8), *past)
    edges = quarters([scores])
    assert edges.tolist() == [2.75, 4.5, 6.25]
    assert by_age(scores, edges) == [[0.01, 0.02], [0.03, 0.04], [0.05, 0.06], [0.07, 0.08]]
    assert by_age(scores, np.array([1.0])) == [[0.01], [0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]]


def test_without_a_past_no_age_has_an_event() -> None:
    alone = hand_made((0, 0, 0.9), (0, np.nan, 0.1))
    assert by_age(alone, quarters([alone])) == [[], [], [], []]


def test_ages_are_those_of_the_asked_events_own_sequence() -> None:
    graph = random_graph(dtype=torch.float64)
    for model in FAMILY:
        scores = attention_scores(first_hop(model, graph), History(graph), questions(graph))
        given = [score for age in by_age(scores, quarters([scores])) for score in age]
        asked, past = scores.elapsed_query == 0, scores.elapsed_key > 0
        assert sorted(given) == sorted(scores.score[asked & past & scores.own])


def cells_of(bins: Bins, empty: bool = False) -> Cells:
    elapsed = np.repeat(bins.edges[:-1] + np.diff(bins.edges) / 2, 3)
    rows = [(query, key, 1 / (1 + abs(query - key))) for query in elapsed for key in elapsed if key >= query]
    scores = hand_made(*rows)
    return average(scores[:0] if empty else scores, bins)


ELAPSED = np.append(0.0, np.geomspace(20, 1e7, 300))
BINS = {
    "logarithmic": Bins.logarithm(ELAPSED, 12),
    "even": Bins.even(ELAPSED, 12),
    "distinct": Bins.distinct(np.arange(12.0)),
    "one time": Bins.distinct(np.zeros(1)),
}


@pytest.mark.parametrize(
    ("name", "count", "seconds"),
    [
        ("logarithmic", 4, True),
        ("logarithmic", 1, False),
        ("even", 3, True),
        ("even", 1, False),
        ("distinct", 2, False),
        ("one time", 1, True),
    ],
)
def test_one_to_four_panels_are_drawn(tmp_path: Path, name: str, count: int, seconds: bool) -> None:
    panels = {f"panel {number}": cells_of(BINS[name]) for number in range(count)}
    figure = draw(panels, "a title", seconds)
    *areas, bar = figure.axes
    assert [area.get_title() for area in areas] == list(panels)
    assert bar.get_ylabel() == "mean attention score"
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_a_panel_without_scores_is_drawn(tmp_path: Path) -> None:
    draw({"nothing": cells_of(BINS["even"], empty=True)}, "a title").savefig(tmp_path / "a.png")


def test_axes_have_named_units() -> None:
    named = draw({"a": cells_of(BINS["logarithmic"])}, "a title").axes[0]
    assert [label.get_text() for label in named.get_xticklabels()] == ["0", "1 min", "1 h", "1 d", "1 w"]
    assert draw({"a": cells_of(BINS["even"])}, "a title").axes[0].get_xlabel() == "$t - t_k$ (days)"
    assert draw({"a": cells_of(BINS["even"])}, "a title", seconds=False).axes[0].get_ylabel() == "$t - t_q$"


def test_more_attention_is_darker_in_grey() -> None:
    *_, colours = (collection for collection in draw({"a": cells_of(BINS["even"])}, "a").axes[0].collections)
    grey = colours.cmap(np.linspace(0, 1, 50))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) < 0).all()


def test_the_figure_imports_no_torch() -> None:
    folder = Path(sys.modules["chronolink.figures.attention"].__file__ or "").parent
    program = (
        "import sys, types; package = types.ModuleType('figures'); "
        f"package.__path__ = [{str(folder)!r}]; sys.modules['figures'] = package; "
        "import figures.attention; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
