"""The page works in a browser without a network"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from chronolink.page import Page, Section, write_page
from chronolink.table import Cell, Row, Table, ranked

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {"phone": (390, 844), "desk": (1440, 900)}
HOSTILE = '<script>alert("x")</script> & `a` {{ 7 * 7 }}'


def table(name: str = "random", columns: int = 6) -> Table:
    ours = {"tgat cosine": 80.0, "tgat linear": 91.0, "dygdecoder cosine": 96.1, "dygdecoder linear": 97.4}
    rows = []
    for place, (labels, mean) in enumerate(ours.items()):
        cells = [Cell.of([mean + column, mean + column + 0.2], (mean + 0.1 * place, 0.4)) for column in range(columns)]
        rows.append(Row(tuple(labels.split()), (*cells[:-1], Cell(paper=(70.0, 1.0)))))
    heads = tuple(f"data set {column}" for column in range(columns))
    return ranked(Table(name, "Test AP", ("model", "time encoder"), heads, tuple(rows)))


def page(tmp_path: Path) -> Page:
    figure = Figure(figsize=(9, 3))
    figure.subplots().plot([1, 2, 3])
    figure.savefig(tmp_path / "time-width.png")
    runs = [{"model": "tgat", "data": "uci", "seed": seed, "dropout": 0.1, "path": "a/" * 150} for seed in (1, 2, 10)]
    return Page(
        f"Results {HOSTILE}",
        (
            Section("random", "Random negatives", "About.", (table(), table("wide", 14)), (), runs, ["w" * 400]),
            Section("hostile names!", HOSTILE, HOSTILE, (), (tmp_path / "time-width.png",), runs[:1], [HOSTILE]),
            Section("empty", "Nothing yet", "No run is finished."),
        ),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_page(tmp_path / "page.html", page(tmp_path))
    return tmp_path / "page.html"


def test_a_section_is_read_as_it_was_written(tmp_path: Path) -> None:
    for section in page(tmp_path).sections:
        section.write(tmp_path / "section.json")
        read = Section.read(tmp_path / "section.json")
        assert read == replace(section, settings=list(section.settings), missing=list(section.missing))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, or a skip; CI_BROWSER=1 makes the skip a failure."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if sync_playwright is None or CHROMIUM is None:
        reason = "needs Chromium and playwright; install both to test the page in a browser"
        pytest.fail(reason) if os.environ.get("CI_BROWSER") == "1" else pytest.skip(reason)
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(params=SIZES)
def opened(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Any]:
    """The page from its file, offline; whatever it complains of or asks for fails the test."""
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda asked: complaints.append(asked.url) if not local(asked.url, file) else None)
    tab.goto(file.as_uri())
    yield tab
    assert complaints == []
    context.close()


def local(url: str, file: Path) -> bool:
    return url.split("#")[0] == file.as_uri() or url.startswith("data:")


def rows(tab: Any, section: str = "random") -> list[str]:
    found = tab.locator(f"#{section} .result").first.locator("tbody tr:visible")
    return [" ".join(row.locator("th").all_inner_texts()) for row in found.all()]


def sideways(tab: Any) -> int:
    return int(tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


ORDER = ["tgat cosine", "tgat linear", "dygdecoder cosine", "dygdecoder linear"]


def test_a_click_sorts_and_says_so_and_the_third_click_undoes_it(opened: Any) -> None:
    head = opened.locator("#random .result").first.locator("thead th").nth(2)
    states = []
    for _ in range(3):
        head.get_by_role("button").click()
        states.append((head.get_attribute("aria-sort"), rows(opened)))
    assert states == [("descending", ORDER[::-1]), ("ascending", ORDER), (None, ORDER)]


def test_only_one_head_is_sorted_and_names_begin_with_a(opened: Any) -> None:
    heads = opened.locator("#random .result").first.locator("thead th")
    heads.nth(2).get_by_role("button").click()
    heads.nth(1).get_by_role("button").click()
    assert [head.get_attribute("aria-sort") for head in heads.all()][1:3] == ["ascending", None]
    assert rows(opened) == ["tgat cosine", "dygdecoder cosine", "tgat linear", "dygdecoder linear"]


def test_a_head_is_sorted_from_the_keyboard(opened: Any) -> None:
    head = opened.locator("#random .result").first.locator("thead th").nth(2)
    head.get_by_role("button").focus()
    opened.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"


def test_the_filter_keeps_the_rows_with_all_its_words(opened: Any) -> None:
    box = opened.get_by_label("Filter the rows of Random negatives")
    box.fill("LINEAR dyg")
    assert rows(opened) == ["dygdecoder linear"]
    assert opened.locator("#random [role=status]").inner_text() == "2 of 11 rows"
    box.fill("")
    assert rows(opened) == ORDER


def test_the_filter_finds_runs_by_their_settings(opened: Any) -> None:
    opened.locator("#random .settings summary").click()
    opened.get_by_label("Filter the rows of Random negatives").fill("10")
    assert opened.locator("#random .settings tbody tr:visible").count() == 1


def test_numbers_among_the_settings_are_sorted_as_numbers(opened: Any) -> None:
    opened.locator("#random .settings summary").click()
    head = opened.locator("#random .settings thead").get_by_role("button", name="seed")
    head.click()
    assert opened.locator("#random .settings tbody td").all_inner_texts() == ["1", "2", "10"]
    head.click()
    assert opened.locator("#random .settings tbody td").all_inner_texts() == ["10", "2", "1"]


def test_a_table_is_switched_between_ours_the_papers_and_the_difference(opened: Any) -> None:
    card = opened.locator("#random .result").first
    cell = card.locator("tbody tr").nth(1).locator("td").first
    shown = []
    for name in ("Ours", "Beside the paper", "Difference"):
        card.get_by_role("button", name=name, exact=True).click()
        assert card.locator("[aria-pressed=true]").all_inner_texts() == [name]
        shown.append(cell.inner_text().split("\n"))
    assert shown == [["91.10 ± 0.14"], ["91.10 ± 0.14", "91.10 ± 0.40"], ["0.00", "0.0 sd"]]
    assert opened.locator("#random .result").nth(1).get_attribute("data-view") == "ours"


def test_a_sorted_table_is_sorted_anew_by_the_difference(opened: Any) -> None:
    card = opened.locator("#random .result").first
    card.locator("thead button").nth(2).click()
    card.get_by_role("button", name="Difference", exact=True).click()
    assert rows(opened) == ORDER  # the paper's numbers grow from row to row, so the differences fall


def test_cells_far_from_the_paper_are_marked(opened: Any) -> None:
    card = opened.locator("#random .result").first
    marked = [row.locator("td.off").count() for row in card.locator("tbody tr").all()]
    assert marked == [sum(cell.off for cell in row.cells) for row in table().rows]
    assert sum(marked) > 0
    assert f"{sum(marked)} off" in card.locator(".key").inner_text()


def test_nothing_makes_the_page_scroll_sideways(opened: Any) -> None:
    opened.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    for name in ("Ours", "Beside the paper", "Difference"):
        for button in opened.get_by_role("button", name=name, exact=True).all():
            button.click()
        assert sideways(opened) == 0


def test_a_wide_table_scrolls_in_its_own_box(opened: Any) -> None:
    box = opened.locator("#random .result").nth(1).locator(".scroll")
    assert box.evaluate("box => { box.scrollLeft = 150; return box.scrollLeft; }") == 150


def test_the_navigation_stays_and_leads_to_its_section(opened: Any) -> None:
    opened.get_by_role("navigation").get_by_role("link", name="Nothing yet").click()
    opened.locator("nav [href='#empty'][aria-current]").wait_for()
    assert opened.locator("#empty h2").is_visible()
    assert 0 <= opened.get_by_role("navigation").bounding_box()["y"] < 120


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_reader(browser: Any, file: Path, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, offline=True)
    tab = context.new_page()
    tab.goto(file.as_uri())
    ground, ink = (tab.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    bright = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ground, ink)]
    assert (bright[0] > bright[1]) is (scheme == "light")
    context.close()


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        self.ids += [value or "" for name, value in attrs if name == "id"]


def test_the_file_needs_no_other_and_has_every_id_once(file: Path) -> None:
    tags = Tags(file.read_text())
    assert all(link.startswith(("#", "data:")) for link in tags.links)
    assert {link[1:] for link in tags.links if link.startswith("#")} <= set(tags.ids)
    assert len(tags.ids) == len(set(tags.ids))


def test_what_comes_from_outside_is_text_and_no_markup(file: Path) -> None:
    text = file.read_text()
    assert Tags(text).names.count("script") == 1
    assert "alert(&#34;x&#34;)" in text
    assert "{{ 7 * 7 }}" in text


def test_a_page_without_sections_is_written(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", Page("Nothing yet", ()))
    assert "Nothing yet" in (tmp_path / "page.html").read_text()
