"""Take new events in, for good

chronolink observe RUN new.csv

The columns are called as in the run's log. What is taken in is on the disk and counts in every later answer; if one
event is older than the last one known, none is taken in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from jsonargparse import ArgumentParser

from ..errors import ChronolinkError
from ..readers.times import shown
from ._answers import add_run_options, opened, said
from ._arguments import command_parser, parse, tidy
from ._console import console


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "run", "events"))
    if settings.run is not None and settings.events is None:
        raise ChronolinkError("no events given; name their file after the run")
    with opened(settings) as predictor:
        count = predictor.observe(settings.events)
        last, size = predictor.last_time, predictor.size
    if settings.json:
        print(json.dumps({"observed": count, "last_time": said(last, predictor.dated), "events": size}, indent=2))
        return
    line = f"new events: {count:,}; the last is at {shown(last, predictor.dated)}; events in all: {size:,}"
    console.print(line, highlight=False, soft_wrap=True)


def _parser() -> ArgumentParser:
    parser = command_parser("observe", __doc__)
    add_run_options(parser)
    parser.add_argument("--events", type=str, default=None, help="the file of new events; may stand alone, too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a sentence")
    return parser
