"""Tables as Markdown, LaTeX and records"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .table import Cell, Row, Table

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
OFF = "†"
KEY = f"{OFF} more than two of the paper's standard deviations and more than one point away"


@dataclass(frozen=True, slots=True)
class Style:
    """How one language writes a cell; the mean is marked, its deviation is not, as in the paper."""

    escape: Callable[[str], str]
    marks: tuple[str, str, str]  # of any other, of the best, of the second best
    spread: str
    missing: str

    def number(self, cell: Cell, digits: int) -> str:
        return self.missing if cell.mean is None else self.written(cell.mean, cell.deviation, digits, cell.rank)

    def published(self, cell: Cell, digits: int) -> str:
        if cell.paper is None:
            return self.missing
        mean, deviation = cell.paper
        return self.written(mean, deviation or None, digits, cell.paper_rank)

    def written(self, mean: float, deviation: float | None, digits: int, rank: int) -> str:
        """`95.90 ± 0.12`; one run has no deviation."""
        spread = "" if deviation is None else self.spread.format(f"{deviation:.{digits}f}")
        return self.marks[rank].format(f"{mean:.{digits}f}") + spread


def signed(value: float | None, digits: int) -> str:
    """`+0.49`, with a true minus sign; what rounds to nothing has no sign."""
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}".replace("-", MINUS)
    return text if re.search("[1-9]", text) else text[1:]


def _escape_markdown(text: str) -> str:
    text = re.sub(r"([\\`*_\[\]|~])", r"\\\1", " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escape_latex(text: str) -> str:
    words = {"\\": "textbackslash", "~": "textasciitilde", "^": "textasciicircum", "<": "textless", ">": "textgreater"}
    special = {character: rf"\{character}" for character in "&%$#_{}"}
    special |= {character: rf"\{word}{{}}" for character, word in words.items()}
    return "".join(special.get(character, character) for character in text)


MARKDOWN = Style(_escape_markdown, ("{}", "**{}**", "<u>{}</u>"), " ± {}", DASH)
LATEX = Style(_escape_latex, ("{}", r"\textbf{{{}}}", r"\underline{{{}}}"), r"{{\scriptsize$\pm${}}}", "--")


def markdown(table: Table) -> str:
    """As in the paper: the best bold, the second best underlined, won columns counted."""
    body = [line for group in table.groups for line in _lines(table, group, MARKDOWN)]
    return _markdown(table, _heads(table, MARKDOWN), body, len(table.heads))


def beside_markdown(table: Table) -> str:
    """Ours beside the paper's, one line a cell, with the difference in points and in the paper's deviations."""
    heads = [_escape_markdown(head) for head in (*table.heads, table.across)]
    heads += ["ours", "runs", "paper", "difference", "in deviations"]
    body = [_beside(table, row, place) for row in table.rows for place in _filled(row)]
    marked = any(cell.off for row in table.rows for cell in row.cells)
    return _markdown(table, heads, body, len(table.heads) + 1) + (f"\n{KEY}\n" if marked else "")


def latex(table: Table) -> str:
    """A floating table; its document needs `booktabs` and no other package."""
    heads = _heads(table, LATEX)
    aligned = "l" * len(table.heads) + "r" * (len(heads) - len(table.heads))
    groups = [[" & ".join(line) + r" \\" for line in _lines(table, group, LATEX)] for group in table.groups]
    lines = [r"\begin{table}", r"\centering\footnotesize\setlength{\tabcolsep}{4pt}"]
    lines += [rf"\caption{{{_escape_latex(f'{table.title} ({table.unit})')}}}"]
    lines += [rf"\label{{table:{_label(table.name)}}}", rf"\begin{{tabular}}{{{aligned}}}", r"\toprule"]
    lines += [" & ".join(heads) + r" \\"] + [line for group in groups for line in (r"\midrule", *group)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _label(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", name)


def records(table: Table) -> list[dict[str, Any]]:
    """One flat record a cell, for CSV and JSON."""
    return [
        {"table": table.name}
        | {head.replace(" ", "_"): label for head, label in zip(table.heads, row.labels, strict=True)}
        | {"column": column, "unit": table.unit}
        | _record(cell)
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    ]


def _record(cell: Cell) -> dict[str, Any]:
    mean, deviation = cell.paper or (None, None)
    return {
        "mean": _tidy(cell.mean),
        "deviation": _tidy(cell.deviation),
        "runs": cell.runs,
        "paper_mean": mean,
        "paper_deviation": deviation,
        "difference": _tidy(cell.difference),
        "difference_in_deviations": _tidy(cell.difference_in_deviations),
    }


def _tidy(value: float | None) -> float | None:
    """Without the digits that only subtraction made."""
    return None if value is None else round(value, 6)


def _heads(table: Table, style: Style) -> list[str]:
    return [style.escape(head) for head in (*table.heads, *table.columns, *(["wins"] if table.wins else []))]


def _lines(table: Table, group: Sequence[Row], style: Style) -> Iterator[list[str]]:
    """The written rows of one group; a label that repeats the row above is left out, as in the paper."""
    most = max(row.wins for row in group)
    above: tuple[str, ...] = ()
    for row in group:
        labels = [
            "" if row.labels[: place + 1] == above[: place + 1] and place < table.among else style.escape(label)
            for place, label in enumerate(row.labels)
        ]
        numbers = [style.number(cell, table.digits) for cell in row.cells]
        yield labels + numbers + ([_wins(row, most, style)] if table.wins else [])
        above = row.labels


def _wins(row: Row, most: int, style: Style) -> str:
    if all(cell.mean is None for cell in row.cells):
        return style.missing
    return style.marks[row.wins == most > 0].format(row.wins)


def _filled(row: Row) -> list[int]:
    return [place for place, cell in enumerate(row.cells) if cell.mean is not None or cell.paper is not None]


def _beside(table: Table, row: Row, place: int) -> list[str]:
    cell, digits = row.cells[place], table.digits
    return [
        *(_escape_markdown(label) for label in (*row.labels, table.columns[place])),
        MARKDOWN.number(cell, digits),
        str(cell.runs),
        MARKDOWN.published(cell, digits),
        signed(cell.difference, digits) + (f" {OFF}" if cell.off else ""),
        signed(cell.difference_in_deviations, 1),
    ]


def _markdown(table: Table, heads: list[str], body: list[list[str]], labels: int) -> str:
    rule = [":---"] * labels + ["---:"] * (len(heads) - labels)
    lines = [f"| {' | '.join(line)} |" for line in (heads, rule, *body)]
    return f"**{_escape_markdown(table.title)}** ({_escape_markdown(table.unit)})\n\n" + "\n".join(lines) + "\n"
