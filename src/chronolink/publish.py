"""Findings to files and one page"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .catalogue import members
from .files import write_json, write_whole
from .job import Job
from .page import Page, Section, write_page
from .paper import TITLE
from .render import beside_markdown, latex, markdown, records
from .study import Findings, Scope, Study
from .table import Table

SECTION = "section.json"  # a study's part of the page, in its folder


def publish(studies: Mapping[str, Study], scope: Scope, out: Path) -> Path:
    """Writes the tables and figures of each study into its own folder, and one page about all in `out`, those that were
    published before included; returns the page.
    """
    for name, study in studies.items():
        _write_section(name.replace("_", "-"), study, scope, out)
    known = [out / name.replace("_", "-") / SECTION for name in members("studies")]
    page = out / "report.html"
    write_page(page, Page(TITLE, tuple(Section.read(path) for path in known if path.exists())))
    return page


def _write_section(name: str, study: Study, scope: Scope, out: Path) -> None:
    findings, folder = study.findings(scope, out), out / name
    folder.mkdir(parents=True, exist_ok=True)
    reports = {job.name: (job, job.report(out)) for job in study.jobs(scope)}
    if findings.tables:
        _write_tables(findings.tables, folder)
    section = Section(
        name=name,
        title=study.title,
        about=study.about,
        tables=findings.tables,
        figures=tuple(_write_figures(findings, folder)),
        settings=[_flat(job, report) for job, report in reports.values() if report is not None],
        missing=[_missing(job, out) for job, report in reports.values() if report is None],
    )
    section.write(folder / SECTION)


def _write_tables(tables: tuple[Table, ...], folder: Path) -> None:
    found = [record for table in tables for record in records(table)]
    write_json(folder / "results.json", found)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for record in found for key in record)))
    writer.writeheader()
    writer.writerows(found)
    write_whole(folder / "results.csv", text.getvalue())
    for table in tables:
        compared = any(cell.paper for row in table.rows for cell in row.cells)
        beside = f"\n{beside_markdown(table)}" if compared else ""
        write_whole(folder / f"{table.name}.md", f"{markdown(table)}{beside}")
        write_whole(folder / f"{table.name}.tex", latex(table))


def _write_figures(findings: Findings, folder: Path) -> list[Path]:
    """PNG for pages, PDF for papers; the same figure is the same file."""
    written = []
    for name, figure in findings.figures.items():
        for suffix, undated in (("pdf", {"CreationDate": None}), ("png", {})):
            path = folder / f"{name}.{suffix}"
            figure.savefig(path, dpi=200, bbox_inches="tight", metadata=undated)
        written.append(path)
    return written


def _flat(job: Job, report: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings in one line, with what it found."""
    flat: dict[str, Any] = {"run": job.name}
    for key, value in job.settings.items():
        flat |= (
            {f"{key}.{inner}": kept for inner, kept in value.items()} if isinstance(value, Mapping) else {key: value}
        )
    return {**flat, "found": job.headline(report)}


def _missing(job: Job, out: Path) -> str:
    return f"{job.title}: {job.obstacle or job.error(out) or 'not run yet'}"
