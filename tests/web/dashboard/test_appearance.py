"""Appearance of the pages: accessible, on every screen size, light and dark."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from playwright.sync_api import Browser, Page, Route

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.dashboard import history as histories
from tests.apps.paged import app as paged
from tests.web.dashboard.browser import needs_chromium
from tests.web.dashboard.pictures import check_picture
from tests.web.dashboard.scenes import overfull, typical
from tests.web.dashboard.still_scenes import StillClock, Stopped, failed, flow
from tests.web.served import served

pytestmark = needs_chromium

# Folder for the screenshots of the documentation; set it to take them again.
SHOTS = os.environ.get("TENURE_TEST_SCREENSHOTS")

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()
# Return what axe finds, one line for each violation: the rule, and where it is broken.
CHECK = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 150)} ${failureSummary}`));
}"""
# Not checked by axe: nothing is cut off at the side, and the focus is visible.
WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth)
    .map((one) => one.outerHTML.slice(0, 100)).slice(-3)"""
FOCUSED = """() => {
  const style = getComputedStyle(document.activeElement);
  return document.activeElement !== document.body && style.outlineStyle !== "none";
}"""


# Pages whose pictures are kept; pages that look alike are not.
PICTURED = {
    *("login", "overview", "tasks", "task", "queues", "schedules", "fleet", "components"),
    *("questions", "pools", "policies", "tenants", "jobs", "tree", "problem", "selection"),
}
EMPTY = {"overview": "/", **{name: f"/{name}" for name in ("jobs", "tasks", "stops", "fleet")}}
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 390))


@contextmanager
def visiting(
    client: Client, browser: Browser, scheme: Literal["light", "dark"], width: int
) -> Iterator[Page]:
    """Yield a page of an admin who has logged in."""
    secret, _ = make_token(client, "root", Role.ADMIN)
    size: Any = {"width": width, "height": 900}
    with served(create_app(client)) as address:
        context = browser.new_context(viewport=size, color_scheme=scheme, base_url=address)
        context.request.post("/login", form={"token": secret})
        # A refresh would undo what a picture replaces. It gets no answer, so the page waits for it.
        context.route("**/*", _answer_no_refresh)
        try:
            yield context.new_page()
        finally:
            context.close()


def _answer_no_refresh(route: Route) -> None:
    if "x-fragment" not in route.request.headers:
        route.continue_()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_every_page_can_be_read_by_everybody(
    client: Client,
    browser: Browser,
    store: Store,
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    pages = typical(store)
    client.migrate(Tenant("acme"))
    client.schedules = paged.schedules
    different: list[str] = []
    with visiting(client, browser, scheme, width) as page:
        for name, path in pages.items():
            page.goto(path)
            _shoot(page, f"{name}-{scheme}")
            if name in PICTURED:
                different += check_picture(page, f"{name}-{scheme}")
            _check(page, name)
    assert not different


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_pages_are_in_order_when_empty_and_when_overfull(
    client: Client,
    browser: Browser,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    monkeypatch.setattr(histories, "FRESH_FOR", 0.0)
    different: list[str] = []
    with visiting(client, browser, scheme, width) as page:
        for fullness, fill in (("empty", None), ("overfull", overfull)):
            pages = fill(store) if fill else EMPTY
            for name, path in pages.items():
                page.goto(path)
                _shoot(page, f"{name}-{fullness}-{scheme}")
                different += check_picture(page, f"{name}-{fullness}-{scheme}")
                _check(page, f"{name} {fullness}")
    assert not different


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_jobs_stops_and_charts_are_drawn_as_they_were(
    client: Client,
    browser: Browser,
    store: Store,
    sql: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    monkeypatch.setattr(histories, "FRESH_FOR", 0.0)
    clock = StillClock(sql)
    stopped = Stopped(store, clock)
    pages = {
        "job-stopped": f"/jobs/{stopped.parent}",
        "record": f"/cancellations/{stopped.record}",
        "job-failed": f"/jobs/{failed(store, clock)}",
    }
    different: list[str] = []
    with visiting(client, browser, scheme, width) as page:
        for name, path in pages.items():
            page.goto(path)
            different += check_picture(page, f"{name}-{scheme}", exact=True)
            _check(page, name)
        flow(store, clock)
        page.goto("/")
        different += check_picture(page, f"overview-flow-{scheme}", exact=True)
        _check(page, "overview with charts")
    assert not different


def _check(page: Page, name: str) -> None:
    # Check collapsed parts as well.
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(AXE)
    assert page.evaluate(CHECK) == [], name
    assert page.evaluate(WIDER) == [], name
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED), name


def test_the_check_finds_what_is_wrong(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<main><h3>x</h3><img src=x><input><button></button></main>")
    page.evaluate(AXE)
    found = {line.partition(":")[0] for line in page.evaluate(CHECK)}
    assert {"image-alt", "label", "button-name", "html-has-lang"} <= found
    page.close()


def _shoot(page: Page, name: str) -> None:
    if SHOTS is not None:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)
