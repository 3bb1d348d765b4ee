"""One HTML file to read results"""

from __future__ import annotations

import json
import re
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from .errors import ChronolinkError
from .files import read_json, write_json, write_whole
from .render import DASH, Style, signed
from .table import Cell, Table

HTML = Style(str, ("{}", "<b>{}</b>", "<u>{}</u>"), "<small> ± {}</small>", DASH)


@dataclass(frozen=True, slots=True)
class Section:
    """One study: its tables and figures, the runs behind them, and what is missing, with the reason."""

    name: str  # of its anchor
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Path, ...] = ()  # PNG
    settings: Sequence[Mapping[str, Any]] = ()  # one a run
    missing: Sequence[str] = ()

    def write(self, path: Path) -> None:
        """Beside its figures."""
        write_json(path, {**asdict(self), "figures": [figure.name for figure in self.figures]})

    @classmethod
    def read(cls, path: Path) -> Section:
        kept = read_json(path)
        try:
            tables = tuple(map(Table.from_json, kept["tables"]))
            figures = tuple(path.with_name(name) for name in kept["figures"])
            return cls(**{**kept, "tables": tables, "figures": figures})
        except (TypeError, KeyError) as error:
            raise ChronolinkError(f"{path} is no section of a page; publish its study again") from error

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Page:
    """Results for a reader with a browser and nothing else."""

    title: str
    sections: tuple[Section, ...]


def write_page(path: Path, page: Page) -> None:
    """Writes one file that needs no other: styles, script and figures are inside, and it asks no network."""
    write_whole(path, _environment().get_template("page.html").render(page=page))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("chronolink", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (_embedded, _breadth, _caption, _value, _quoted, signed)
    environment.filters |= {function.__name__.strip("_"): function for function in filters}
    shared = (_ours, _paper, _judged, _spread, _common, _varied)
    environment.globals |= {function.__name__.strip("_"): function for function in shared}
    return environment


def _ours(cell: Cell, digits: int) -> Markup:
    return Markup(HTML.number(cell, digits))


def _paper(cell: Cell, digits: int) -> Markup:
    return Markup(HTML.published(cell, digits))


def _judged(table: Table) -> tuple[int, int, int]:
    """How many cells were run, how many of those the paper's deviations can judge, and how many of these are off."""
    cells = [cell for row in table.rows for cell in row.cells if cell.mean is not None]
    compared = sum(cell.difference_in_deviations is not None for cell in cells)
    return len(cells), compared, sum(cell.off for cell in cells)


def _spread(table: Table) -> bool:
    """Whether any cell has a standard deviation, ours or the paper's."""
    cells = [cell for row in table.rows for cell in row.cells]
    return any(cell.deviation is not None or (cell.paper and cell.paper[1]) for cell in cells)


def _quoted(text: str) -> Markup:
    """Text with `words` between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _embedded(figure: Path) -> str:
    return f"data:image/png;base64,{b64encode(figure.read_bytes()).decode()}"


def _breadth(figure: Path) -> int:
    """On the page: figures are drawn finely, so that a sharp screen has more than one dot a pixel."""
    with figure.open("rb") as file:
        width: int = struct.unpack(">I", file.read(20)[16:])[0]  # a PNG begins with its size
    return round(0.6 * width)


def _caption(figure: Path) -> str:
    words = re.sub(r"[-_]+", " ", figure.stem).strip()
    return words[:1].upper() + words[1:]


def _value(value: Any) -> Markup:
    """A setting as a reader writes it."""
    if value is None or value == "":
        return Markup(DASH)
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    return escape(value if isinstance(value, str) else json.dumps(value, default=str))


def _keys(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for run in settings for key in run))


def _common(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all runs share, to be said once."""
    if len(settings) < 2:
        return {}
    first = settings[0]
    return {key: first[key] for key in first if all(key in run and run[key] == first[key] for run in settings)}


def _varied(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    shared = _common(settings)
    return [key for key in _keys(settings) if key not in shared]
