"""How the pages look: readable by everybody, on every screen, light and dark."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.principal import Role
from tenure.store.outcomes import LogLine, Report
from tenure.store.store import Store
from tenure.web import create_app
from tests.apps.paged import app as paged
from tests.factories import make_job, make_worker, promote
from tests.web.page.browsing import ARGUMENTS, CHROMIUM, needs_chromium
from tests.web.served import served

pytestmark = needs_chromium

# Where the screenshots of the documentation go, if somebody wants them made anew.
SHOTS = os.environ.get("TENURE_TEST_SCREENSHOTS")

# What is wrong with a page for those who do not see it, do not see it well, or have no mouse.
CHECK = """() => {
  const wrong = [];
  const tell = (what, element) => wrong.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const number = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const [r, g, b, a = 1] = number(getComputedStyle(element).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const named = (element) =>
    element.getAttribute("aria-label") || element.textContent.trim() || element.title;
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if (document.querySelectorAll("main").length !== 1) wrong.push("not one main part");
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one heading of the page");
  for (const one of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!one.labels.length) tell("no label", one);
  for (const one of document.querySelectorAll("a, button, summary, progress, meter"))
    if (!named(one)) tell("no name", one);
  for (const one of document.querySelectorAll("table thead th"))
    if (!one.scope) tell("a head of nothing", one);
  for (const one of document.querySelectorAll("img:not([alt]), svg:not([aria-hidden]):not([role])"))
    tell("no words for it", one);
  for (const one of document.querySelectorAll("[tabindex]"))
    if (one.tabIndex > 0) tell("order", one);
  let level = 0;
  for (const one of document.querySelectorAll("h1, h2, h3, h4")) {
    if (+one.tagName[1] > level + 1) tell("a level is left out", one);
    level = +one.tagName[1];
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.nodeValue.trim() || !shown(element)) continue;
    const [a, b] = [light(number(getComputedStyle(element).color)), light(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) tell(`contrast ${contrast.toFixed(2)}`, element);
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the screen");
  return wrong;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def scene(store: Store) -> dict[str, str]:
    """Something of everything; names of pages, and their paths."""
    worker = make_worker(store, timedelta(seconds=60))
    store.create_pool("browsers", ["chromium-1", "chromium-2"])
    draft = NewJob(task="shop.crawl", queue="crawl", owner="ann", tags=["eu"], args={"site": "a"})
    jobs = [one.id for one in store.enqueue([draft] * 6)]
    family = make_job(store, "shop.family", owner="ann", target="site:a", pools=["browsers"])
    children = [make_job(store, "shop.crawl", parent=family) for _ in range(3)]
    failing = make_job(store, "shop.pay", owner="ben", target="site:b", max_attempts=1)
    make_job(store, "shop.pay", owner="ben", target="site:b")
    promote(store)
    held = {one.id: one for one in worker.claim(20)}
    told = [
        Report(
            job=one,
            token=held[one].token,
            progress={"done": 30 + 10 * n, "total": 100, "message": f"page {n}"},
            logs=[LogLine(f"fetched page {n}"), LogLine("slow answer", "warning")],
        )
        for n, one in enumerate([family, *jobs[:4], *children])
    ]
    store.report(worker.id, told)
    error = {"type": "ValueError", "message": "card refused", "traceback": "in pay()"}
    worker.finish(held[failing], "failed", error=error)
    record = store.stop(family, reason="customer left", by="ann", grace=timedelta(minutes=10))
    names = ("jobs", "cancellations", "queues", "targets", "workers", "pools", "schedules")
    return {
        "login": "/login",
        "overview": "/",
        **{name: f"/{name}" for name in (*names, "audit", "tenants", "bulk")},
        "job": f"/jobs/{family}",
        "failed": f"/jobs/{failing}",
        "cancellation": f"/cancellations/{record.cancellation_id}",
        "refused": "/jobs/999999",
    }


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_every_page_can_be_read_by_everybody(
    client: Client,
    browser: Browser,
    scene: dict[str, str],
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    secret, _ = make_token(client, "root", Role.ADMIN)
    client.schedules = paged.schedules
    size: Any = {"width": width, "height": 900}
    with served(create_app(client)) as address:
        context = browser.new_context(viewport=size, color_scheme=scheme, base_url=address)
        cookie: Any = {"name": "tenure_session", "value": secret, "url": address}
        context.add_cookies([cookie])
        page = context.new_page()
        for name, path in scene.items():
            page.goto(path)
            _shoot(page, f"{name}-{scheme}")
            # What is folded away is read as well.
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert page.evaluate(CHECK) == [], name
        context.close()


def _shoot(page: Page, name: str) -> None:
    if SHOTS is not None:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)
