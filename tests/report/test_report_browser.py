"""The page in a real browser: it draws, stays silent, fits a phone, turns dark, and does without scripts.

Each check is also shown a page with the fault that it is there to find.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from feedbench.paths import RunDirectory

CHROMIUM = (
    os.environ.get("FEEDBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
)
# The browser itself must not talk either: no updates, no field trials, no sign-in.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page with everything that it said and asked for."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # those that no policy stopped


@contextlib.contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Opened]:
    """The file at `path` in a fresh window; requests are noted, and stopped before they leave the machine."""
    context = browser.new_context(viewport=options.pop("viewport", DESK), **options)
    page = context.new_page()
    watched = Opened(page)
    page.on("console", lambda message: watched.errors.append(message.text) if _bad(message.type) else None)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", lambda request: watched.requests.append(request.url))

    def stop(route: Route) -> None:
        watched.left.append(route.request.url)
        route.abort()

    page.route(re.compile("^(https?|wss?):"), stop)
    page.goto(path.as_uri())
    try:
        yield watched
    finally:
        context.close()


def _bad(kind: str) -> bool:
    return kind in {"error", "warning"}


def _draw_all(page: Page) -> None:
    """Opens every question and scrolls through the page, since charts are drawn when they come near."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate(
        """async () => {
          for (const chart of document.querySelectorAll(".chart")) {
            chart.scrollIntoView({ behavior: "instant", block: "center" });
            const deadline = performance.now() + 10000;
            while (!chart.classList.contains("live") && performance.now() < deadline) {
              await new Promise((resolve) => setTimeout(resolve, 20));
            }
          }
          scrollTo({ top: 0, behavior: "instant" });
        }"""
    )


def _undrawn(page: Page) -> list[str]:
    """The charts without a live SVG that shows at least one mark with an extent."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("figure.plot")].filter((figure) => {
          const marks = [...figure.querySelectorAll(".chart.live svg g[class*='mark-'] path")];
          return !marks.some((mark) => mark.getBoundingClientRect().width > 1);
        }).map((figure) => figure.id)"""
    )
    return found


def _overflow(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def _spill(page: Page) -> list[str]:
    """Charts whose words or marks reach beyond their own box, and so are cut."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".chart.live")].filter((chart) => {
          const box = chart.getBoundingClientRect();
          return [...chart.querySelectorAll("svg text")].some((word) => {
            const inner = word.getBoundingClientRect();
            return inner.width > 0 && (inner.right > box.right + 2 || inner.left < box.left - 2);
          });
        }).map((chart) => chart.parentElement.id)"""
    )
    return found


def _edited(run: RunDirectory, folder: Path, old: str, new: str) -> Path:
    """A copy of the page with a fault planted."""
    html = run.report.read_text(encoding="utf-8")
    assert old in html
    path = folder / "planted.html"
    path.write_text(html.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_every_chart_is_drawn_without_an_error_or_a_request(
    browser: Browser, reported: RunDirectory, viewport: dict[str, int], scheme: str
) -> None:
    with opened(browser, reported.report, viewport=viewport, color_scheme=scheme) as window:
        _draw_all(window.page)
        assert _undrawn(window.page) == []
        assert _spill(window.page) == []
        assert _overflow(window.page) == 0
    assert window.errors == []
    assert len(window.requests) == 1, "the page itself, and nothing else"


def test_a_chart_that_does_not_draw_is_found_and_its_drawing_stays(
    browser: Browser, reported: RunDirectory, tmp_path: Path
) -> None:
    planted = _edited(reported, tmp_path, '"mark":{"type":"rule"', '"mark":{"type":"no such mark"')
    with opened(browser, planted) as window:
        page = window.page
        # Another chart must come near before it is drawn; one that lies in no folded question.
        page.locator("#resources .chart").first.scroll_into_view_if_needed()
        page.locator(".chart.live").first.wait_for(state="attached")
        assert len(_undrawn(page)) >= 1
        first = page.locator("figure.plot").first
        assert first.locator(".chart > svg").bounding_box() is not None
    assert any("could not be drawn" in error for error in window.errors)


def test_a_request_would_be_seen_and_is_forbidden_by_the_policy(
    browser: Browser, reported: RunDirectory, tmp_path: Path
) -> None:
    image = '<main><img src="http://192.0.2.1/x.png" alt="">'
    with opened(browser, _edited(reported, tmp_path, "<main>", image)) as window:
        window.page.wait_for_timeout(100)
    assert window.left == []
    assert any("Content Security Policy" in error for error in window.errors)
    html = (tmp_path / "planted.html").read_text(encoding="utf-8")
    naive = tmp_path / "naive.html"
    naive.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", html), encoding="utf-8")
    with opened(browser, naive) as window:
        window.page.wait_for_timeout(100)
    assert window.left == ["http://192.0.2.1/x.png"]


def test_a_page_too_wide_for_a_phone_is_found(
    browser: Browser, reported: RunDirectory, tmp_path: Path
) -> None:
    planted = _edited(reported, tmp_path, "<main>", '<main><div style="width:500px">wide</div>')
    with opened(browser, planted, viewport=PHONE) as window:
        assert _overflow(window.page) > 100


def _colour(page: Page, selector: str, attribute: str) -> str:
    script = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]"
    return str(page.evaluate(script, [selector, attribute]))


def _brightness(colour: str) -> float:
    return sum(int(channel) for channel in re.findall(r"\d+", colour)[:3]) / 3


@pytest.mark.parametrize("scripts", [True, False], ids=["live", "without scripts"])
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_page_and_charts_follow_the_colour_scheme(
    browser: Browser, reported: RunDirectory, scheme: str, dark: bool, scripts: bool
) -> None:
    with opened(browser, reported.report, color_scheme=scheme, java_script_enabled=scripts) as window:
        page = window.page
        if scripts:
            _draw_all(page)
        assert (_brightness(_colour(page, "body", "backgroundColor")) < 60) is dark
        assert (_brightness(_colour(page, "body", "color")) > 180) is dark
        assert (_brightness(_colour(page, ".chart svg text", "fill")) > 120) is dark


def test_charts_that_stay_light_in_the_dark_are_found(
    browser: Browser, reported: RunDirectory, tmp_path: Path
) -> None:
    html = re.sub(r"\.chart \[fill=[^}]*\}", "", reported.report.read_text(encoding="utf-8"))
    planted = tmp_path / "planted.html"
    planted.write_text(html, encoding="utf-8")
    with opened(browser, planted, color_scheme="dark") as window:
        _draw_all(window.page)
        assert _brightness(_colour(window.page, ".chart svg text", "fill")) < 120


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_without_scripts_every_figure_is_there(
    browser: Browser, reported: RunDirectory, viewport: dict[str, int]
) -> None:
    with opened(browser, reported.report, viewport=viewport, java_script_enabled=False) as window:
        page = window.page
        drawings = page.locator(".chart > svg")
        assert drawings.count() == page.locator("figure.plot").count() > 10
        headline = drawings.first.bounding_box()
        assert headline is not None
        assert headline["width"] > 300
        assert _overflow(page) == 0


def test_nothing_planted_in_the_run_is_executed(browser: Browser, hostile: RunDirectory) -> None:
    with opened(browser, hostile.report) as window:
        window.page.on("dialog", lambda dialog: window.errors.append(f"dialog: {dialog.message}"))
        _draw_all(window.page)
        assert _undrawn(window.page) == []
    assert window.errors == []
    assert len(window.requests) == 1


def test_the_pointer_gets_an_answer(browser: Browser, reported: RunDirectory) -> None:
    with opened(browser, reported.report) as window:
        page = window.page
        _draw_all(page)
        page.locator("figure.plot .mark-symbol path").first.hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "c/floor" in page.locator("#vg-tooltip-element").inner_text()


def test_landmarks_headings_and_a_skip_link(browser: Browser, reported: RunDirectory) -> None:
    with opened(browser, reported.report) as window:
        page = window.page
        for landmark in ("header", "nav", "main", "footer"):
            assert page.locator(landmark).count() == 1
        levels = page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3,h4')].map((each) => +each.tagName[1])"
        )
        assert levels.count(1) == 1
        assert levels[0] == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
