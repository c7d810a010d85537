"""The history in a real browser: it moves by itself, and nothing else does."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.dashboard import history as histories
from tests.factories import make_job_in
from tests.web.dashboard.browser import ARGUMENTS, CHROMIUM, PATIENCE, needs_chromium
from tests.web.served import served

pytestmark = needs_chromium


@pytest.fixture
def overview(client: Client, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """An overview that somebody looks at, of a day on which one job ended."""
    monkeypatch.setattr(histories, "FRESH_FOR", 0.1)
    make_job_in(store, State.COMPLETED, queue="mail")
    secret, _ = make_token(client, "vic", Role.VIEWER)
    with sync_playwright() as playwright, served(create_app(client)) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(base_url=address)
        context.request.post("/login", form={"token": secret})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto("/?span=1h")
        yield page
        context.close()
        browser.close()


def look_again(page: Page) -> str:
    """Let the page look whether there is anything new; what it was answered."""
    with page.expect_response(lambda answer: "/?span=1h" in answer.url) as answered:
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    return answered.value.text()


def test_what_ends_is_drawn_and_moves_nothing_else(overview: Page, store: Store) -> None:
    completed = overview.locator("figure", has_text="Completed")
    expect(completed.locator(".sum")).to_have_text("1")
    overview.get_by_text("Show as a table").click()
    overview.evaluate("document.querySelector('.history').isThis = true")
    places = (
        "[...document.querySelectorAll('h1, .stats, .chart, .fold')].map((one) => one.offsetTop)"
    )
    before = overview.evaluate(places)

    make_job_in(store, State.COMPLETED, queue="mail")
    make_job_in(store, State.FAILED, queue="mail", max_attempts=1)

    expect(completed.locator(".sum")).to_have_text("2", timeout=PATIENCE)
    expect(overview.locator(".chart .sum.bad")).to_have_text("1")
    expect(overview.locator(".history details")).to_have_attribute("open", "")
    assert overview.evaluate("document.querySelector('.history').isThis"), "merged, not replaced"
    assert overview.evaluate(places) == before


def test_while_nothing_ends_nothing_is_sent_and_all_stays(overview: Page) -> None:
    # Twice, because a bucket may end just between the two.
    if "data-same" not in (text := look_again(overview)):
        text = look_again(overview)
    assert "data-same" in text
    assert "<svg" not in text
    expect(overview.locator(".chart svg")).to_have_count(4)
    expect(overview.get_by_role("img", name="Completed 1 completed in all")).to_be_visible()
