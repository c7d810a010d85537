"""Appearance of the pages: accessible, on every screen size, light and dark."""

import os
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.outcomes import LogLine, Report
from tenure.store.store import Store
from tenure.web import create_app
from tests.apps.paged import app as paged
from tests.factories import make_job, make_worker, promote
from tests.web.dashboard.browser import needs_chromium
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
FITS = "document.documentElement.scrollWidth <= innerWidth"
FOCUSED = """() => {
  const style = getComputedStyle(document.activeElement);
  return document.activeElement !== document.body && style.outlineStyle !== "none";
}"""


@pytest.fixture
def scene(store: Store) -> dict[str, str]:
    """Create one object of every kind; return the names of the pages and their paths."""
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
    store.pause_dispatch("pool", "browsers", reason="an upgrade")
    store.pause_dispatch("queue", "mail")
    store.set_policy("stale", {"filter": {"queue": "crawl"}, "when": {"waiting": "2h"}})
    spec = {"when": {"error_rate": {"above": 0.5}}, "intent": "pause", "reason": "circuit open"}
    store.set_policy("breaker", spec, enabled=False)
    store.set_strategy("gentle", {"grace": 120, "last_rung": "interrupted"}, by="root")
    bulk = store.bulk_stop({"queue": "mail"}, reason="wrong template", by="ann")
    paused = make_job(store, "shop.index", queue="later")
    store.stop(paused, intent=Intent.PAUSE, reason="at night", by="ann")
    store.resume(paused, reason="now", by="ben")
    names = (
        *("jobs", "cancellations", "queues", "targets", "workers", "pools", "schedules", "system"),
        *("policies", "strategies", "bulks", "tokens"),
    )
    return {
        "login": "/login",
        "overview": "/",
        **{name: f"/{name}" for name in (*names, "audit", "tenants", "bulk")},
        "job": f"/jobs/{family}",
        "failed": f"/jobs/{failing}",
        "resumed": f"/jobs/{paused}",
        "stopped": f"/bulk/{bulk.id}",
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
    client.migrate(Tenant("acme"))
    client.schedules = paged.schedules
    size: Any = {"width": width, "height": 900}
    with served(create_app(client)) as address:
        context = browser.new_context(viewport=size, color_scheme=scheme, base_url=address)
        context.request.post("/login", form={"token": secret})
        page = context.new_page()
        for name, path in scene.items():
            page.goto(path)
            _shoot(page, f"{name}-{scheme}")
            # Check collapsed parts as well.
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            page.evaluate(AXE)
            assert page.evaluate(CHECK) == [], name
            assert page.evaluate(FITS), name
            page.keyboard.press("Tab")
            assert page.evaluate(FOCUSED), name
        context.close()


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
