"""Names, folders and files become graphs"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from chronolink.analysis.statistics import describe
from chronolink.dataset import datasets, load
from chronolink.errors import ChronolinkError
from chronolink.read import read_events

# nodes, events, distinct pairs, distinct times, from the paper's table of statistics and the bundled files' sources
PUBLISHED = {
    "uci": (1899, 59835, 20296, 58911),
    "enron": (184, 125235, 3125, 22632),
    "uslegis": (225, 60396, 26423, 12),
    "canparl": (734, 74478, 51331, 14),
    "wikipedia-edges": (9227, 157474, 18257, 152757),
    "lastfm-first": (1049, 108501, 19434, 108214),
}


def write_benchmark(folder: Path, name: str = "toy", **arrays: np.ndarray) -> Path:
    """Three events of four nodes; idx is out of step with the rows on purpose."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ",u,i,ts,label,idx\n0,1,3,0.0,0.0,2\n1,2,4,5.0,1.0,1\n2,1,4,5.0,0.0,3\n"
    (folder / f"ml_{name}.csv").write_text(rows)
    (folder / f"{name}.csv").write_text("the original, not read")
    edges = np.array([[0, 0], [10, 1], [20, 2], [30, 3]], dtype=np.float64)
    np.save(folder / f"ml_{name}.npy", arrays.get("edges", edges))
    np.save(folder / f"ml_{name}_node.npy", arrays.get("nodes", np.zeros((5, 172))))
    return folder


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_bundled_sets_have_the_published_statistics(name: str) -> None:
    graph = load(name)
    found = describe(graph)
    assert (found.nodes, found.events, found.pairs, found.times) == PUBLISHED[name]
    assert graph.num_nodes == found.nodes
    assert (graph.names, graph.name) == (None, name)
    listed = next(dataset for dataset in datasets() if dataset.name == name)
    assert (listed.nodes, listed.events, listed.pairs, listed.times) == PUBLISHED[name]
    assert listed.bundled
    assert listed.on_disk


def test_the_bundled_sets_have_their_features_and_labels() -> None:
    assert load("uslegis").edge_features.shape == (60396, 1)
    assert load("uslegis").edge_features[0].item() == 53.0
    labels = load("wikipedia-edges").labels
    assert labels is not None
    assert int(labels.sum()) == 217


def test_case_hyphens_and_underscores_play_no_part_in_names() -> None:
    assert load("US_Legis").digest() == load("us-legis").digest() == load("uslegis").digest()


def test_all_of_the_benchmark_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHRONOLINK_CACHE", str(tmp_path))
    archives = {dataset.archive for dataset in datasets() if dataset.archive}
    assert len(archives) == 13
    assert {dataset.name for dataset in datasets() if dataset.on_disk} == set(PUBLISHED)


def test_an_unknown_name_is_refused_with_the_likely_one() -> None:
    with pytest.raises(ChronolinkError, match="no data set named 'redit'; did you mean 'reddit'"):
        load("redit")


def test_a_file_is_read_with_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("who,whom,when\n0,1,2\n1,0,3\n")
    graph = load(path, source="who", destination="whom", time="when")
    assert graph.digest() == read_events(path, source="who", destination="whom", time="when").digest()
    assert graph.name == "mine"


def test_a_file_that_is_not_there_is_no_unknown_name(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path / "none"):
        with pytest.raises(ChronolinkError, match="no file"):
            load(path)


def test_columns_are_refused_where_they_are_fixed(tmp_path: Path) -> None:
    for known in ("uci", write_benchmark(tmp_path / "toy")):
        with pytest.raises(ChronolinkError, match="has columns of its own; leave out time"):
            load(known, time="when")


def test_a_folder_of_the_benchmark_counts_from_zero_here(tmp_path: Path) -> None:
    graph = load(write_benchmark(tmp_path / "toy"))
    stream = graph.events
    assert stream.source.tolist() == [0, 1, 0]
    assert stream.destination.tolist() == [2, 3, 3]
    assert stream.time.tolist() == [0.0, 5.0, 5.0]
    assert graph.edge_features[stream.id].tolist() == [[20, 2], [10, 1], [30, 3]]
    assert graph.labels is not None
    assert graph.labels[stream.id].tolist() == [0, 1, 0]
    assert (graph.num_nodes, graph.name) == (4, "toy")


def test_features_that_are_zero_throughout_have_width_zero(tmp_path: Path) -> None:
    graph = load(write_benchmark(tmp_path / "toy", edges=np.zeros((4, 172))))
    assert graph.edge_features.shape == (3, 0)
    assert graph.node_features.shape == (4, 0)


def test_node_features_lose_their_padding_row(tmp_path: Path) -> None:
    nodes = np.arange(10, dtype=np.float32).reshape(5, 2)
    graph = load(write_benchmark(tmp_path / "toy", nodes=nodes))
    assert torch.equal(graph.node_features, torch.from_numpy(nodes[1:]))


def test_a_zip_reads_like_its_folder(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "toy")
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as bundle:
        for file in folder.iterdir():
            bundle.write(file, f"toy/{file.name}")
    assert load(tmp_path / "toy.zip").digest() == load(folder).digest() == load(tmp_path).digest()


@pytest.mark.parametrize(
    ("file", "content", "fault"),
    [
        ("ml_toy.csv", b",u,i,ts,label,idx\n0,0,3,0,0,1\n1,1,2,1,0,2\n", "row 1: u is 0; this format counts from 1"),
        ("ml_toy.csv", b",u,i,ts,label,idx\n0,1,3,0,0,1\n1,1,2,,0,2\n", "row 2: ts is missing"),
        ("ml_toy.csv", b",u,i,ts,label,idx\n0,1,3,0,0,1\n", "one event only"),
        ("ml_toy.npy", b"junk", "ml_toy.npy: not a plain numpy array"),
        ("ml_toy.npy", None, "ml_toy.npy is missing"),
        ("ml_toy_node.npy", None, "ml_toy_node.npy is missing"),
        ("ml_toy.csv", None, "no file ml_"),
        ("ml_other.csv", b"", "several sets"),
    ],
)
def test_a_broken_folder_is_refused(tmp_path: Path, file: str, content: bytes | None, fault: str) -> None:
    folder = write_benchmark(tmp_path / "toy")
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)
    with pytest.raises(ChronolinkError, match=fault):
        load(folder)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "toy")
    np.save(folder / "ml_toy.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(ChronolinkError, match="not a plain numpy array"):
        load(folder)


@pytest.mark.parametrize(
    ("edges", "fault"),
    [
        (np.ones((3, 2)), "2 rows where 3 are named"),
        (np.ones(4), r"float64 of shape \(4,\)"),
        (np.array([[0.0], [1.0], [np.nan], [1.0]]), "row 2: a feature is not finite"),
    ],
)
def test_broken_features_are_refused(tmp_path: Path, edges: np.ndarray, fault: str) -> None:
    with pytest.raises(ChronolinkError, match=fault):
        load(write_benchmark(tmp_path / "toy", edges=edges))


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "toy.zip").write_bytes(b"junk")
    with pytest.raises(ChronolinkError, match=r"toy.zip: cannot be unpacked"):
        load(tmp_path / "toy.zip")
