"""Which past events a score rests on

chronolink explain RUN --source alice --destination bob [--at 2024-05-01] [--most 20] [--out picture.png] [--json]

The weight of an event is the score less the score without it. A model with a memory of its own keeps what it has
learnt of the event there; the weight is what the event brings beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser
from rich.table import Table
from rich.text import Text

from ..answers import Explanation
from ..errors import ChronolinkError, at_least_one
from ..files import write_whole
from ..predictor import Predictor
from ..readers.times import shown
from ._answers import add_run_options, add_time_option, asked, opened, said, writable
from ._arguments import command_parser, parse, tidy
from ._console import console, messages

PICTURES = (".png", ".pdf")
MARKED = 500  # past events of an end that the picture marks


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "run"))
    for end in ("source", "destination"):
        if settings[end] is None:
            raise ChronolinkError(f"no {end} given; name a node with --{end}")
    at_least_one(most=settings.most)
    out, at = writable(settings.out, PICTURES), asked(settings)
    with opened(settings) as predictor:
        found = predictor.explain(settings.source, settings.destination, at, settings.most)
        if out is not None:
            _draw(predictor, found, out)
    if settings.json:
        print(json.dumps(_record(found, predictor.dated), indent=2))
    else:
        _show(found, predictor.dated)
    if out is not None:
        messages.print(f"picture: {out}", highlight=False, markup=False, soft_wrap=True)


def _parser() -> ArgumentParser:
    parser = command_parser("explain", __doc__)
    add_run_options(parser)
    for end in ("source", "destination"):
        parser.add_argument(f"--{end}", type=str, default=None, help=f"the {end}'s name")
    add_time_option(parser)
    parser.add_argument("--most", type=int, default=20, help="events of either node that are weighed, the latest")
    parser.add_argument("--out", type=str, default=None, help=f"a file for the picture: {', '.join(PICTURES)}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _draw(predictor: Predictor, found: Explanation, out: Path) -> None:
    from ..figures.explanation import draw  # matplotlib takes long to import

    ends = dict.fromkeys((found.source, found.destination))
    past = {end: [event.time for event in predictor.past(end, found.at, MARKED)] for end in ends}
    content = BytesIO()
    figure = draw(found, past, predictor.dated, partial(shown, dated=predictor.dated))
    figure.savefig(content, format=out.suffix.lower()[1:])
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, content.getvalue())


def _record(found: Explanation, dated: bool) -> dict[str, Any]:
    events = [{**asdict(event), "time": said(event.time, dated)} for event in found.events]
    return {**asdict(found), "at": said(found.at, dated), "events": events}


def _show(found: Explanation, dated: bool) -> None:
    title = f"{found.source} to {found.destination} at {shown(found.at, dated)}: score {found.score:.4f}, "
    table = Table(title=Text(f"{title}probability {found.probability:.4f}"), title_justify="left")
    for column in ("source", "destination", "time"):
        table.add_column(column)
    table.add_column("weight", justify="right")
    for event in found.events:
        ends = (Text(event.source), Text(event.destination))
        table.add_row(*ends, shown(event.time, dated), f"{event.weight:+.3g}")
    console.print(table)
    if not found.events:
        console.print("Neither node has a past event there.", highlight=False)
