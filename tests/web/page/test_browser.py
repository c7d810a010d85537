"""The page in a real browser, before a real server and a real worker."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.store.store import Store
from tests.factories import make_job
from tests.web.page.browsing import ARGUMENTS, CHROMIUM, PATIENCE, Server, needs_chromium, serving
from tests.workers import Watcher, running_worker

pytestmark = needs_chromium

APP = "tests.apps.paged:app"
expect.set_options(timeout=PATIENCE)

Opens = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[Server]:
    with serving(database, tmp_path) as server:
        yield server


@pytest.fixture
def opens(browser: Browser, server: Server, client: Client) -> Iterator[Opens]:
    """A browser of somebody who has logged in."""
    problems: list[str] = []
    contexts = []

    def opened(name: str, role: Role = Role.OPERATOR, path: str = "/", **how: object) -> Page:
        secret, _ = make_token(client, name, role)
        context = browser.new_context(base_url=server.address, **how)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda told: problems.append(told.text) if _is_ours(told.text) else None)
        page.goto(path)
        page.get_by_label("Token").fill(secret)
        page.get_by_role("button", name="Log in").click()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems


def _is_ours(text: str) -> bool:
    """What the policy forbids is our fault; that a server is away is the test's."""
    return "Content Security Policy" in text


def stop(page: Page, what: str, reason: str) -> None:
    page.locator("summary", has_text=what).click()
    form = page.locator("details.act[open] form")
    form.get_by_label("Reason").fill(reason)
    form.get_by_role("button", name=what).click()


def test_watch_a_job_cancel_it_and_see_the_proof(
    opens: Opens, store: Store, database: str, tmp_path: Path
) -> None:
    job = make_job(store, "tests.apps.paged.walk", owner="ann", max_attempts=1)
    with running_worker(database, tmp_path, app=APP):
        page = opens("ann", path=f"/jobs/{job}")
        message = page.locator(".progress-line")
        expect(message).to_contain_text("step")
        first = message.inner_text()
        expect(message).not_to_have_text(first)  # it moves without anybody's doing

        page.locator("summary", has_text="Pause").click()
        box = page.locator("details.act[open]").get_by_label("Reason")
        box.fill("half writ")
        moved = message.inner_text()
        expect(message).not_to_have_text(moved)
        assert box.input_value() == "half writ", "what one is filling in stays"
        expect(box).to_be_focused()
        page.locator("summary", has_text="Pause").click()

        stop(page, "Cancel", "customer <b>left</b>")
        proof = page.locator(".strip .proof")
        expect(proof).to_contain_text("Proven: cancelled means gone")
        for name in ("Requested", "Delivered", "Interrupted", "Gone", "Record closed"):
            expect(page.locator(".strip li.done .name", has_text=name)).to_be_visible()
        expect(page.locator(".strip")).to_contain_text(
            "ann asked to cancel it: customer <b>left</b>"
        )
        expect(page.locator(".strip")).to_contain_text("bank session was closed")
        expect(page.locator(".head .status")).to_have_text("⊘ cancelled")
    assert store.show(job).state is State.CANCELLED
    [row] = [row for row in store.trail("job", str(job)) if row.verb == "cancel"]
    assert (row.actor, row.via, row.reason) == ("ann", "page", "customer <b>left</b>")


def test_force_what_clings_pause_and_resume_what_walks(
    opens: Opens, store: Store, database: str, tmp_path: Path
) -> None:
    clings = make_job(store, "tests.apps.paged.clings", max_attempts=1)
    walks = make_job(store, "tests.apps.paged.walk")
    with running_worker(database, tmp_path, app=APP):
        Watcher(store).becomes(clings, State.RUNNING)
        page = opens("root", Role.ADMIN, path=f"/jobs/{clings}")
        stop(page, "Cancel", "too loud")
        expect(page.locator(".strip .next")).to_contain_text("SIGTERM to what it has started, in")
        stop(page, "Force the cancel now", "at once")
        expect(page.locator(".strip .proof")).to_contain_text("cancelled means gone")
        expect(page.locator(".strip li.done .name", has_text="SIGKILL")).to_be_visible()

        page.goto(f"/jobs/{walks}")
        stop(page, "Pause", "lunch")
        expect(page.locator(".head .status")).to_have_text("‖ paused")
        page.locator("summary", has_text="Resume").click()
        page.locator("details.act[open] button").click()
        expect(page.locator(".head .status")).to_have_text("▶ running")


def test_the_page_outlives_its_server_and_tells_of_a_worker_that_was_killed(
    opens: Opens, server: Server, store: Store, database: str, tmp_path: Path
) -> None:
    job = make_job(store, "tests.apps.paged.walk", owner="ann", orphan="fail")
    with (
        running_worker(database, tmp_path, app=APP) as worker,
        running_worker(database, tmp_path, "--queues", "none", app=APP),
    ):
        page = opens("ann", path=f"/jobs/{job}")
        message = page.locator(".progress-line")
        expect(message).to_contain_text("step")
        cut = page.locator(".cut")
        expect(cut).to_be_hidden()
        server.stop()
        expect(cut).to_be_visible()
        server.start()
        expect(cut).to_be_hidden()
        seen = message.inner_text()
        expect(message).not_to_have_text(seen)  # the same page, logged in as before

        for process in worker.tree:
            with suppress(psutil.NoSuchProcess):
                os.kill(process.pid, signal.SIGKILL)
        expect(page.locator(".head .status")).to_have_text("✗ failed")
        expect(page.locator("main")).to_contain_text("recovered")


@pytest.mark.parametrize("name", ["blocks", "holds"])
def test_the_stack_of_a_blocking_job_is_seen_before_it_is_stopped(
    opens: Opens, store: Store, database: str, tmp_path: Path, name: str
) -> None:
    job = make_job(store, f"tests.apps.paged.{name}", owner="ann", max_attempts=1)
    with running_worker(database, tmp_path, app=APP):
        page = opens("ann", path=f"/jobs/{job}")
        expect(page.locator("pre.log")).to_contain_text("about to block")
        page.get_by_role("button", name="Look inside").click()
        stack = page.locator(".inside pre.stack").first
        expect(stack).to_contain_text(f"in {name}")
        expect(stack).to_contain_text("time.sleep(NEVER)")
        process = page.locator(".inside tbody tr").first
        expect(process).to_contain_text("sleeping")
        pid = process.locator("th").inner_text()
        stop(page, "Cancel", "stuck")
        expect(page.locator(".strip .proof")).to_contain_text("cancelled means gone")
        # An event loop goes on for others; a process whose function was interrupted does not.
        tree = f"its process tree is gone: pid {pid}" if name == "blocks" else "runs any more"
        expect(page.locator(".strip")).to_contain_text(tree)
        expect(page.locator(".inside")).to_have_count(0)
    [row] = [row for row in store.trail("job", str(job)) if row.verb == "look_into"]
    assert (row.actor, row.via) == ("ann", "page")


def test_the_list_is_live_and_the_page_works_without_script(
    opens: Opens, store: Store, browser: Browser
) -> None:
    page = opens("root", Role.ADMIN, path="/jobs")
    expect(page.locator("main")).to_contain_text("No jobs")
    job = make_job(store, "tests.apps.paged.walk")
    expect(page.locator("tbody tr")).to_have_count(1)

    plain = opens("root", Role.ADMIN, path=f"/jobs/{job}", java_script_enabled=False)
    stop(plain, "Cancel", "no script")
    expect(plain.locator(".strip .proof")).to_contain_text("cancelled means gone")
    expect(page.locator("tbody .status")).to_have_text("⊘ cancelled")
