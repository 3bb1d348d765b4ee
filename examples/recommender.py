"""A recommender: which page does a user edit next?

Usage: python examples/recommender.py [--events 10000] [--epochs 3] [--out recommender]

The latest edits of Wikipedia, users on one side and pages on the other, as a log with names. TGAT with linear time
learns from it and is put beside two rules that learn nothing; then pages are recommended, and a new edit is taken in.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import chronolink
from chronolink.allocator import keep_buffers

USERS = 8227  # of wikipedia-edges: the pages' numbers follow the users'


def write_log(path: Path, events: int) -> None:
    """The latest edits of the bundled set, by name; bipartite means that users and pages have names of their own."""
    stream = chronolink.load("wikipedia-edges").events[-events:]
    users = [f"user {number}" for number in stream.source.tolist()]
    pages = [f"page {number - USERS}" for number in stream.destination.tolist()]
    pl.DataFrame({"user": users, "page": pages, "second": stream.time.numpy()}).write_csv(path)


def train(graph: chronolink.TemporalGraph, name: str, epochs: int, out: Path) -> None:
    """MRR says where the page that was edited stands among 50 others, drawn at random."""
    options = {"width": 100, "time_encoder": {"name": "linear", "width": 28}} if name == "tgat" else {}
    model = chronolink.build(name, graph, **options)
    training = chronolink.Training(epochs=epochs, learning_rate=1e-3, candidates=50)
    test = chronolink.fit(model, graph, training, out=out / name).test
    found, hard = test["random"], test["historical"]
    print(f"{name:<12} AP {found['ap']:.3f}, among pairs that met before {hard['ap']:.3f}; MRR {found['mrr']:.3f}")


def recommend(run: chronolink.Predictor, user: str, new: bool = False) -> list[str]:
    """Pages for a user, best first; only those that the user has not edited yet, if wanted."""
    found = run.rank(user, top=len(run.names))
    return [page.name for page in found if not (new and page.last_met is not None)][:5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("recommender"))
    asked = parser.parse_args()
    keep_buffers()  # as the command line does: training takes less time
    asked.out.mkdir(parents=True)
    write_log(asked.out / "edits.csv", asked.events)
    graph = chronolink.load(asked.out / "edits.csv", source="user", destination="page", time="second")
    print(f"{len(graph.events):,} edits, {graph.num_nodes:,} users and pages")
    for model in ("popularity", "recency", "tgat"):
        train(graph, model, asked.epochs, asked.out)
    with chronolink.open(asked.out / "tgat") as run:
        user = run.names.known[int(graph.events.source[-1])]
        print(f"{user} is likely to edit: {', '.join(recommend(run, user))}")
        page = recommend(run, user, new=True)[0]
        print(f"of the pages that are new to {user}, {page} is first")
        run.observe({"user": [user], "page": [page], "second": [run.last_time + 60]})
        print(f"a minute after an edit of {page}: {', '.join(recommend(run, user))}")


if __name__ == "__main__":
    main()
