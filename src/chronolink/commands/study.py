"""Run a table or a figure of the paper

chronolink study NAME [--data uci enron] [--models tgat] [--time-encoders linear] [--seeds 1 2 3] [--out studies] [...]
chronolink study NAME --plan
chronolink study NAME --publish

NAME is one of the studies listed below, or all. What is done is not run again: the same command goes on where it
stopped. Out come tables, figures and report.html in the folder; the page is about all studies published there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace
from rich.table import Table

from ..catalogue import find, members, plain
from ..dataset import canonical
from ..errors import ChronolinkError, unknown
from ..estimate import Estimates
from ..executor import Executor, Work
from ..executors.here import Here
from ..executors.processes import Processes
from ..executors.ray_cluster import RayCluster
from ..job import Job
from ..publish import publish
from ..study import Scope, Study
from ..training.options import Precision
from ._arguments import command_parser, parse, tidy
from ._console import console, messages, watcher

WHEN_STOPPED = "the same command goes on with the study"
LISTS = ("--data", "--models", "--time_encoders", "--seeds")


def main(arguments: Sequence[str]) -> None:
    settings = parse(_parser(), tidy(arguments, "name", several=LISTS))
    if not settings.name:
        raise ChronolinkError(f"which study? give one of {', '.join(_known())}, or all")
    scope, out = _scope(settings), Path(settings.out)
    studies = {name: find("studies", name, Study)() for name in _names(settings.name)}
    if settings.plan:
        _show_plan(studies, scope, out, settings.workers)
        return
    try:
        for alone in () if settings.publish else (False, True):
            asked = [study for study in studies.values() if study.alone is alone]
            _run(_jobs(asked, scope), out, settings, alone)
    finally:
        page = publish(studies, scope, out)
    console.print(f"tables, figures and settings: {page}", highlight=False)


def _parser() -> ArgumentParser:
    about = "\n".join(f"  {name:<22} {find('studies', name, Study).title}" for name in _known())
    parser = command_parser("study", f"{__doc__}\n{about}\n")
    parser.add_argument("--name", type=str | None, help="the study, or all")
    parser.add_argument("--data", type=str, nargs="*", default=[], help="data sets (default: those of the paper)")
    parser.add_argument("--models", type=str, nargs="*", default=[], help="models (default: those of the paper)")
    parser.add_argument("--time_encoders", type=str, nargs="*", default=[], help="encoders (default: the paper's)")
    parser.add_argument(
        "--seeds", type=int, nargs="*", default=[], help="one run a seed (default: as many as the paper)"
    )
    parser.add_argument("--epochs", type=int | None, help="at most so many a training (default: the paper's)")
    parser.add_argument(
        "--precision", type=Precision, default="no", help="of the matrix products (default: no, which is float32)"
    )
    parser.add_argument("--out", type=str, default="studies", help="the folder of runs and results")
    parser.add_argument("--plan", action="store_true", help="show what would run and how long it takes here")
    parser.add_argument("--publish", action="store_true", help="write tables and figures of what is done, run nothing")
    parser.add_argument("--workers", type=int, default=1, help="runs side by side in processes of their own")
    parser.add_argument("--ray", type=str | None, help="address of a Ray cluster that does the runs; local starts one")
    return parser


def _known() -> list[str]:
    return [name.replace("_", "-") for name in members("studies")]


def _names(asked: str) -> list[str]:
    return members("studies") if plain(asked) == "all" else [plain(asked)]


def _scope(settings: Namespace) -> Scope:
    for folder in ("models", "time_encoders"):
        known = members(folder)
        for name in settings[folder]:
            if plain(name) not in known:
                raise unknown(folder.rstrip("s").replace("_", " "), name, [k.replace("_", "-") for k in known])
    if settings.workers < 1:
        raise ChronolinkError(f"workers is {settings.workers}; it must be 1 or more")
    return Scope(
        data=tuple(map(canonical, settings.data)),
        models=tuple(settings.models),
        time_encoders=tuple(settings.time_encoders),
        seeds=tuple(settings.seeds),
        epochs=settings.epochs,
        precision=settings.precision,
    )


def _jobs(studies: Sequence[Study], scope: Scope) -> list[Job]:
    """Each once, whichever studies ask for it."""
    return list({job.name: job for study in studies for job in study.jobs(scope)}.values())


def _run(jobs: list[Job], out: Path, settings: Namespace, alone: bool) -> None:
    possible = [job for job in jobs if job.obstacle is None]
    left = {job.name: job for job in possible if job.report(out) is None}
    for obstacle in dict.fromkeys(job.obstacle for job in jobs if job.obstacle):
        messages.print(f"left out: {obstacle}", highlight=False)
    if not jobs:
        return
    messages.print(f"{len(possible) - len(left)} of {len(possible)} runs are done already", highlight=False)
    begun, total = time.perf_counter(), len(left)
    for name, line in _outcomes(left, out, settings, alone):
        del left[name]
        spent = time.perf_counter() - begun
        ahead = f"; {len(left)} left, about {_span(spent / (total - len(left)) * len(left))}" if left else ""
        messages.print(f"[{total - len(left)}/{total}] {line}{ahead}", markup=False, highlight=False)


def _outcomes(left: dict[str, Job], out: Path, settings: Namespace, alone: bool) -> Iterator[tuple[str, str]]:
    executor = _executor(settings, alone)
    watch = watcher if isinstance(executor, Here) else None  # elsewhere nobody sees a bar
    work = [Work(name, partial(job.perform, out.resolve(), watch)) for name, job in left.items()]
    for outcome in executor.run(work):
        job = left[outcome.name]
        if outcome.error is None and job.report(out) is None:  # done on a machine with other disks
            job.keep(outcome.value, out)
        found = f"broken: {outcome.error}" if outcome.error else job.headline(outcome.value)
        yield outcome.name, f"{job.title}: {found}"


def _executor(settings: Namespace, alone: bool) -> Executor:
    if alone:
        return Processes(1)
    if settings.ray:
        return RayCluster(settings.ray)
    return Processes(settings.workers) if settings.workers > 1 else Here()


def _show_plan(studies: dict[str, Study], scope: Scope, out: Path, workers: int) -> None:
    estimates, seen, total = Estimates(out), set[str](), 0.0
    table = Table("study", "runs", "done", "left", "cannot run here", "time here")
    with messages.status("timing a step of each kind of run"):
        for name, study in studies.items():
            jobs = [job for job in _jobs([study], scope) if job.name not in seen]
            seen |= {job.name for job in jobs}
            blocked = [job for job in jobs if job.obstacle]
            left = [job for job in jobs if not job.obstacle and job.report(out) is None]
            known = [seconds for job in left if (seconds := estimates.seconds(job)) is not None]
            seconds = sum(known) / (1 if study.alone else workers)
            total += seconds
            counts = (len(jobs), len(jobs) - len(blocked) - len(left), len(left), len(blocked))
            span = "" if not left else _span(seconds) if known else "not known"
            table.add_row(name.replace("_", "-"), *map(str, counts), span)
    console.print(table)
    console.print(f"about {_span(total)} with {workers} at a time; a run that two studies share is counted once")


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
