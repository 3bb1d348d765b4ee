"""The service's page works in a browser, whatever the nodes are called"""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests import test_page
from tests.services import day, event, make_run, served
from tests.test_page import SIZES, sideways

browser = test_page.browser  # Chromium, or a skip

IMAGE = '<img src=x onerror="document.title=1">'
CODE = "'); document.title = 2; ('"
LONG = "w" * 300
HOSTILE = ("ann", "bob", IMAGE, CODE, "..", "a&b=c#d?e%2F", "</script><script>document.title=3</script>", LONG)
KEY = "sésame 42"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), people=HOSTILE)


@pytest.fixture
def service(trained: Path, tmp_path: Path) -> Iterator[str]:
    with served(Path(shutil.copytree(trained, tmp_path / "run"))) as address:
        yield address


@pytest.fixture(params=SIZES)
def opened(request: pytest.FixtureRequest, browser: Any, service: str) -> Iterator[Any]:
    """The page; whatever it complains of or asks elsewhere fails the test."""
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height})
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message))
    tab.on("request", lambda asked: None if asked.url.startswith((service, "data:")) else complaints.append(asked.url))
    tab.goto(service)
    tab.locator("#examples a").first.wait_for()
    yield tab
    assert [line for line in complaints if "404 (Not Found)" not in line] == []
    context.close()


def node(tab: Any) -> Any:
    return tab.get_by_role("combobox", name="Node", exact=True)


def suggested(tab: Any) -> Any:
    return tab.get_by_role("listbox", name="Nodes").get_by_role("option")


def ask(tab: Any, name: str, at: str = "") -> None:
    node(tab).fill(name)
    tab.get_by_role("textbox", name="Time").fill(at)
    tab.get_by_role("button", name="Show", exact=True).click()
    tab.get_by_role("heading", name=f"History of {name}", exact=True).wait_for()
    tab.locator("main[aria-busy=false]").wait_for()


def answer(service: str, address: str) -> Any:
    with urllib.request.urlopen(service + address) as found:
        return json.load(found)


def test_a_person_sees_the_past_the_next_links_and_what_they_rest_on(opened: Any, service: str) -> None:
    ask(opened, "ann")
    past, ranking = answer(service, "past/ann"), answer(service, "rank/ann")
    assert opened.locator("#line circle").count() == len(past["events"])
    assert opened.locator("#line circle.out").count() == sum(row["source"] == "ann" for row in past["events"])
    names = [row["name"] for row in ranking["ranked"]]
    assert opened.locator("#ranked button").all_inner_texts() == names
    shares = [f"{100 * row['probability']:.1f} %" for row in ranking["ranked"]]
    assert opened.locator("#ranked .percent").all_inner_texts() == shares
    opened.locator("#ranked").get_by_role("button", name="bob", exact=True).click()
    opened.get_by_role("heading", name="Why ann → bob?").wait_for()
    why = answer(service, "explain?source=ann&destination=bob")
    shown = opened.locator("#reasons tbody th").all_inner_texts()
    wanted = [f"{row['source']} → {row['destination']}" for row in why["events"]]
    assert shown == wanted[: len(shown)]
    assert len(shown) > 0
    assert opened.locator("#line .picked").count() == 1


def test_suggestions_follow_what_is_typed_and_a_click_picks_one(opened: Any) -> None:
    node(opened).press_sequentially("B")
    suggested(opened).get_by_text("bob", exact=True).click()
    opened.get_by_role("heading", name="History of bob").wait_for()
    assert suggested(opened).count() == 0
    assert node(opened).get_attribute("aria-expanded") == "false"


def test_all_of_it_can_be_done_from_the_keyboard(opened: Any) -> None:
    node(opened).focus()
    opened.keyboard.type("an")
    opened.get_by_role("option", name="ann").wait_for()
    opened.keyboard.press("ArrowDown")
    assert node(opened).get_attribute("aria-activedescendant") == "found-0"
    opened.keyboard.press("Enter")
    opened.get_by_role("heading", name="History of ann").wait_for()
    opened.locator("#ranked button").first.wait_for()
    for _ in range(60):
        opened.keyboard.press("Tab")
        if opened.evaluate("document.activeElement.closest('#ranked button') !== null"):
            break
    opened.keyboard.press("Enter")
    opened.get_by_role("heading", name="Why ann →").wait_for()
    opened.wait_for_function("document.activeElement.id === 'why-title'")


def test_what_is_typed_counts_and_not_what_was_pointed_at_before(opened: Any) -> None:
    node(opened).press_sequentially("a")
    suggested(opened).first.wait_for()
    opened.keyboard.press("ArrowDown")
    node(opened).fill("bob")
    opened.keyboard.press("Enter")
    opened.get_by_role("heading", name="History of bob").wait_for()


def test_escape_closes_the_suggestions(opened: Any) -> None:
    node(opened).press_sequentially("b")
    suggested(opened).first.wait_for()
    opened.keyboard.press("Escape")
    assert suggested(opened).count() == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_text_and_never_markup_or_an_address(opened: Any, name: str) -> None:
    ask(opened, name)
    opened.locator("#ranked button").first.click()
    opened.locator("#reasons dl").wait_for()
    opened.locator("summary").click()
    assert opened.title() == f"{name}: next links"
    assert opened.locator("img").count() == 0
    assert opened.locator("script").count() == 1
    assert name in opened.locator("#past").inner_text()
    assert sideways(opened) == 0


def test_the_past_of_a_time_ends_strictly_before_it(opened: Any) -> None:
    ask(opened, "ann", day(56))
    opened.locator("summary").click()
    times = opened.locator("#past tbody th").all_inner_texts()
    assert times == sorted(times, reverse=True)
    assert times[0] < day(56)


def test_an_event_leads_to_what_was_expected_just_before_it(opened: Any) -> None:
    ask(opened, "ann")
    opened.locator("summary").click()
    third = opened.locator("#past a").nth(2)
    when = third.inner_text()
    third.click()
    opened.get_by_text(f"At {when};").wait_for()
    times = opened.locator("#past a").all_inner_texts()
    assert times[0] < when


def test_the_address_brings_the_question_back(opened: Any) -> None:
    ask(opened, "ann", day(56))
    ask(opened, "a&b=c#d?e%2F")
    opened.reload()
    opened.get_by_role("heading", name="History of a&b=c#d?e%2F").wait_for()
    opened.go_back()
    opened.get_by_role("heading", name="History of ann").wait_for()
    assert opened.get_by_role("textbox", name="Time").input_value() == day(56)


def test_a_mistake_is_shown_as_the_service_says_it(opened: Any) -> None:
    node(opened).fill("anne")
    opened.keyboard.press("Enter")
    opened.get_by_role("alert").get_by_text("no node named 'anne'; did you mean 'ann'?").wait_for()
    ask(opened, "ann")
    assert opened.get_by_role("alert").count() == 0


def test_without_a_node_the_page_asks_for_one(opened: Any) -> None:
    opened.get_by_role("button", name="Show", exact=True).click()
    assert opened.get_by_role("alert").inner_text() == "Give a node first."


def test_what_is_observed_meanwhile_is_shown_when_asked_again(opened: Any, service: str) -> None:
    ask(opened, "ann")
    body = json.dumps({"events": [event(300, "ann", "newcomer")]}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{service}events", body, {"Content-Type": "application/json"}))
    opened.get_by_role("button", name="Show", exact=True).click()
    opened.locator("#line").get_by_role("link", name="Show newcomer").wait_for()


def test_every_control_has_a_name(opened: Any) -> None:
    ask(opened, "ann")
    for control in opened.locator("input, select, button, [role=region], section, svg").all():
        named = control.evaluate(
            "c => c.getAttribute('aria-label') || c.labels?.[0]?.textContent || c.textContent.trim()"
            " || document.getElementById(c.getAttribute('aria-labelledby'))?.textContent"
        )
        assert named, control.evaluate("c => c.outerHTML")


def test_a_touch_finds_the_controls(opened: Any) -> None:
    for control in opened.locator("input, select, .go").all():
        assert control.bounding_box()["height"] >= 36


def test_script_that_is_not_the_page_s_own_does_not_run(browser: Any, service: str) -> None:
    tab = browser.new_page()
    tab.goto(service)
    tab.evaluate(
        "() => { const made = document.createElement('script'); made.textContent = 'window.ran = true';"
        " document.head.append(made); }"
    )
    assert tab.evaluate("window.ran") is None
    tab.close()


def test_the_page_asks_for_the_key_and_keeps_it_in_memory_alone(browser: Any, trained: Path, tmp_path: Path) -> None:
    with served(Path(shutil.copytree(trained, tmp_path / "run")), KEY) as address:
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(address)
        for key in ("wrong", KEY):
            tab.get_by_label("API key").fill(key)
            tab.get_by_role("button", name="Go on").click()
            if key == "wrong":
                tab.get_by_text("That key is not the one.").wait_for()
        tab.locator("#examples a").first.wait_for()
        ask(tab, "ann")
        assert tab.get_by_role("dialog").count() == 0
        assert tab.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
        assert context.cookies() == []
        tab.reload()
        tab.get_by_label("API key").wait_for()
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_reader(browser: Any, service: str, scheme: str) -> None:
    tab = browser.new_page(color_scheme=scheme)
    tab.goto(service)
    ground, ink = (tab.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    bright = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ground, ink)]
    assert (bright[0] > bright[1]) is (scheme == "light")
    tab.close()


@pytest.mark.parametrize("size", SIZES)
def test_the_interface_is_described_on_a_page_of_its_own(browser: Any, service: str, size: str) -> None:
    width, height = SIZES[size]
    tab = browser.new_page(viewport={"width": width, "height": height})
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{service}docs")
    tab.get_by_role("heading", name="/metrics").wait_for()
    for address in answer(service, "openapi.json")["paths"]:
        assert tab.get_by_role("heading", name=address, exact=False).count() >= 1
    assert all(url.startswith((service, "data:")) for url in asked)
    assert sideways(tab) == 0
    tab.close()


class Links(HTMLParser):
    """What a page leads to or loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]


def test_a_page_is_one_file_that_loads_no_other(service: str) -> None:
    for address in ("", "docs"):
        with urllib.request.urlopen(service + address) as found:
            text = found.read().decode()
        assert all(
            link in (".", "docs", "openapi.json") or link.startswith(("#", "data:")) for link in Links(text).found
        )
        assert "@style.css" not in text
        assert "@ask.js" not in text
        assert "http-equiv" not in text
