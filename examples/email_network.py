"""An e-mail network: who writes to whom next, and why?

Usage: python examples/email_network.py [--events 20000] [--epochs 3] [--out email]

Twelve weeks of e-mails within a company as a CSV file with names and dates, both made up. Linear and cosine time are
compared, with a rule that learns nothing beside them; then the better of the two answers by name and by date: whom a
person writes to next, how likely that is, and what it rests on.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

import chronolink
from chronolink.allocator import keep_buffers
from chronolink.readers.times import moment, shown

FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gia", "Hugo", "Ida", "Jon", "Kim", "Lea", "Max", "Nia")
LAST = ("Abel", "Byrne", "Costa", "Diaz", "Endo", "Fox", "Gray", "Haas", "Ito", "Jain", "Kerr", "Lund", "Moss", "Nagy")
BUSY = 50_000  # from this event on people write a lot
BEGUN = datetime(1999, 1, 1, tzinfo=UTC)  # made up as well: the set counts seconds from its first e-mail


def write_log(path: Path, events: int) -> None:
    """E-mails of the bundled set, with a name for every number and a date for every second."""
    stream = chronolink.load("enron").events[BUSY : BUSY + events]
    names = [f"{first} {last}" for last in LAST for first in FIRST]
    dates = [(BEGUN + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S") for second in stream.time.tolist()]
    ends = {"from": stream.source.tolist(), "to": stream.destination.tolist()}
    columns = {end: [names[number] for number in numbers] for end, numbers in ends.items()}
    pl.DataFrame({**columns, "sent": dates}).write_csv(path)


def train(graph: chronolink.TemporalGraph, name: str, epochs: int, out: Path) -> float:
    """AP among pairs that wrote before: the question is when, not who."""
    if name == "recency":
        model = chronolink.build(name, graph)
    else:
        time = {"name": name, "width": 28}
        model = chronolink.build("tgat", graph, time_encoder=time, width=100)
    training = chronolink.Training(epochs=epochs, learning_rate=1e-3)
    test = chronolink.fit(model, graph, training, out=out / name).test
    ap: float = test["historical"]["ap"]
    print(f"{name:<8} AP {test['random']['ap']:.3f}, among pairs that wrote before {ap:.3f}")
    return ap


def ask(run: chronolink.Predictor, person: str) -> None:
    print(f"after {shown(run.last_time, run.dated)}, of those she or he has met, {person} is likely to write to:")
    for found in run.rank(person, top=3, candidates="seen"):
        met = "never wrote before" if found.last_met is None else f"last wrote {shown(found.last_met, run.dated)}"
        print(f"  {found.name:<12} {found.probability:.2f}  {met}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("email"))
    asked = parser.parse_args()
    keep_buffers()  # as the command line does: training takes less time
    asked.out.mkdir(parents=True)
    write_log(asked.out / "mails.csv", asked.events)
    graph = chronolink.load(asked.out / "mails.csv", source="from", destination="to", time="sent")
    print(f"{len(graph.events):,} e-mails among {graph.num_nodes} people")
    train(graph, "recency", 0, asked.out)
    scores = {encoder: train(graph, encoder, asked.epochs, asked.out) for encoder in ("cosine", "linear")}
    with chronolink.open(asked.out / max(scores, key=scores.__getitem__)) as run:
        person = run.names.known[int(graph.events.source[-500:].mode().values)]  # who wrote most of late
        ask(run, person)
        friend = run.rank(person, top=1, candidates="seen")[0].name
        reason = run.explain(person, friend, most=10).events[0]
        print(f"it rests most on {reason.source} to {reason.destination} at {shown(reason.time, run.dated)}")
        run.observe({"from": ["Zoe Quist"], "to": [person], "sent": [shown(run.last_time + 3600, run.dated)]})
        later = moment(shown(run.last_time + 60, run.dated))
        answer = run.score([person], ["Zoe Quist"], at=later)
        print(f"Zoe Quist, who is new, writes to {person}; an answer a minute later: {answer.probability[0]:.2f}")


if __name__ == "__main__":
    main()
