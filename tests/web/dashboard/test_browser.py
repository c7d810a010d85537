"""The dashboard in a real browser, against a real server and a real worker.

All tests share these and the database; each has jobs, users and queues of its own.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect

from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tests.factories import make_job
from tests.web.dashboard.browser import PATIENCE, needs_chromium
from tests.web.dashboard.stage import APP, Stage, is_look, looks, stop
from tests.workers import Watcher, running_worker

pytestmark = needs_chromium

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module", autouse=True)
def worker(staged: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with running_worker(
        staged.url, tmp_path_factory.mktemp("worker"), "--queues", "default", app=APP
    ):
        yield


def test_watch_a_job_cancel_it_and_see_the_proof(stage: Stage) -> None:
    store = stage.store
    job = make_job(store, "tests.apps.paged.walk", owner="ann", max_attempts=1)
    page = stage.opens("ann", path=f"/jobs/{job}")
    message = page.locator(".progress-line")
    expect(message).to_contain_text("step")
    first = message.inner_text()
    expect(message).not_to_have_text(first)  # it updates without user action

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
    for name in ("Requested", "Delivered", "Interrupted", "Gone", "Closed"):
        expect(page.locator(".strip li.done .name", has_text=name)).to_be_visible()
    expect(page.locator(".strip")).to_contain_text("cancel requested by ann: customer <b>left</b>")
    expect(page.locator(".strip")).to_contain_text("bank session was closed")
    expect(page.locator(".head .status")).to_have_text("⊘ cancelled")
    assert store.show(job).state is State.CANCELLED
    [row] = [row for row in store.audit_log("job", str(job)) if row.verb == "cancel"]
    assert (row.actor, row.via, row.reason) == ("ann", "dashboard", "customer <b>left</b>")


def test_force_what_clings(stage: Stage) -> None:
    clings = make_job(stage.store, "tests.apps.paged.clings", max_attempts=1)
    Watcher(stage.store).becomes(clings, State.RUNNING)
    page = stage.opens("root", Role.ADMIN, path=f"/jobs/{clings}")
    stop(page, "Cancel", "too loud")
    expect(page.locator(".strip .next")).to_contain_text("SIGTERM to the processes it has started")
    stop(page, "Force now", "at once")
    expect(page.locator(".strip .proof")).to_contain_text("cancelled means gone")
    expect(page.locator(".strip li.done .name", has_text="SIGKILL")).to_be_visible()


def test_pause_and_resume_what_walks(stage: Stage) -> None:
    walks = make_job(stage.store, "tests.apps.paged.walk")
    Watcher(stage.store).becomes(walks, State.RUNNING)
    page = stage.opens("root", Role.ADMIN, path=f"/jobs/{walks}")
    stop(page, "Pause", "lunch")
    expect(page.locator(".head .status")).to_have_text("‖ paused")
    expect(page.locator(".strip .proof")).to_contain_text("Proven: paused means gone")
    page.get_by_role("button", name=f"Resume job {walks}").click()
    expect(page.locator(".head .status")).to_have_text("▶ running")
    expect(page.locator(".strip h2")).to_contain_text("Earlier pause")
    expect(page.locator(".strip .went-on")).to_contain_text("resumed by root")
    stage.store.stop(walks, force=True)


def test_the_page_outlives_its_server_and_tells_of_a_worker_that_was_killed(
    stage: Stage, tmp_path: Path
) -> None:
    job = make_job(stage.store, "tests.apps.paged.walk", owner="ann", queue="doomed", orphan="fail")
    with running_worker(stage.url, tmp_path, "--queues", "doomed", app=APP) as doomed:
        page = stage.opens("ann", path=f"/jobs/{job}")
        message = page.locator(".progress-line")
        expect(message).to_contain_text("step")
        cut = page.locator(".cut")
        expect(cut).to_be_hidden()
        stage.server.stop()
        expect(cut).to_be_visible()
        stage.server.start()
        expect(cut).to_be_hidden()
        seen = message.inner_text()
        expect(message).not_to_have_text(seen)  # the same page, still logged in

        for process in doomed.tree:
            with suppress(psutil.NoSuchProcess):
                os.kill(process.pid, signal.SIGKILL)
        expect(page.locator(".head .status")).to_have_text("✗ failed")
        expect(page.locator("main")).to_contain_text("recovered")


@pytest.mark.parametrize("name", ["blocks", "holds"])
def test_the_stack_of_a_blocking_job_is_seen_before_it_is_stopped(stage: Stage, name: str) -> None:
    job = make_job(stage.store, f"tests.apps.paged.{name}", owner="ann", max_attempts=1)
    page = stage.opens("ann", path=f"/jobs/{job}")
    expect(page.locator("pre.log")).to_contain_text("about to block")
    page.get_by_role("button", name="Inspect").click()
    stack = page.locator(".inside pre.stack").first
    expect(stack).to_contain_text(f"in {name}")
    expect(stack).to_contain_text("time.sleep(NEVER)")
    process = page.locator(".inside tbody tr").first
    expect(process).to_contain_text("sleeping")
    pid = process.locator("th").inner_text()
    stop(page, "Cancel", "stuck")
    expect(page.locator(".strip .proof")).to_contain_text("cancelled means gone")
    # An event loop keeps running for other jobs; a process with an interrupted function ends.
    tree = (
        f"its process tree is gone: pid {pid}"
        if name == "blocks"
        else "none of its code is running"
    )
    expect(page.locator(".strip")).to_contain_text(tree)
    expect(page.locator(".inside")).to_have_count(0)
    [row] = [row for row in stage.store.audit_log("job", str(job)) if row.verb == "inspect"]
    assert (row.actor, row.via) == ("ann", "dashboard")


def test_the_list_is_live_and_the_page_works_without_script(stage: Stage) -> None:
    page = stage.opens("root", Role.ADMIN, path="/jobs?queue=nobody-serves-it")
    expect(page.locator("main")).to_contain_text("No jobs")
    job = make_job(stage.store, "tests.apps.paged.walk", queue="nobody-serves-it")
    expect(page.locator("tbody tr")).to_have_count(1)

    plain = stage.opens("root", Role.ADMIN, path=f"/jobs/{job}", java_script_enabled=False)
    stop(plain, "Cancel", "no script")
    expect(plain.locator(".strip .proof")).to_contain_text("cancelled means gone")
    expect(page.locator("tbody .status")).to_have_text("⊘ cancelled")


def test_two_people_see_what_is_theirs_and_nothing_else(stage: Stage) -> None:
    """An operator and a viewer of one tenant, an admin of another, all at once."""
    stage.client.migrate(Tenant("acme"))
    listed = "/jobs?queue=shop"
    ann, vic = stage.opens("ann", path=listed), stage.opens("vic", Role.VIEWER, path=listed)
    boss = stage.opens("boss", Role.ADMIN, tenant="acme", path=listed)
    for page in (ann, vic, boss):
        expect(page.locator("main")).to_contain_text("No jobs")
    boss.goto("/strategies")  # a page that does not poll
    with boss.expect_request(is_look):
        boss.goto(listed)  # the stream starts with the current state: one fetch
    looked = looks(boss)
    mine = make_job(stage.store, "tests.apps.paged.walk", queue="shop", owner="ann")
    for page in (ann, vic):
        expect(page.locator("tbody tr")).to_have_count(1)
    assert not looked, "what moves in one tenant is no event in another"
    with stage.store_of("acme") as acme:
        theirs = make_job(acme, "tests.apps.paged.walk", queue="shop", owner="eve", key="of-acme")
        expect(boss.locator("tbody tr")).to_have_count(1)
        expect(boss.locator("tbody")).to_contain_text("of-acme")
        for page in (ann, vic):
            expect(page.locator("tbody")).not_to_contain_text("of-acme")

        for page in (ann, vic):
            page.goto(f"/jobs/{mine}")
            expect(page.locator("h1")).to_contain_text(f"Job {mine}")
        expect(ann.locator("summary", has_text="Cancel")).to_be_visible()
        expect(vic.locator("main form[method=post]")).to_have_count(0)
        expect(boss.get_by_role("link", name="Tokens")).to_be_visible()
        expect(ann.get_by_role("link", name="Tokens")).to_have_count(0)
        boss.goto("/jobs/of-acme")
        stop(boss, "Cancel", "ours to stop")
        expect(boss.locator(".strip .proof")).to_contain_text("cancelled means gone")
        assert acme.show(theirs).cancelled_by == "boss"
    assert stage.store.show(mine).state is State.PENDING
    ann.goto("/jobs/of-acme")
    expect(ann.locator("h1")).to_have_text("Not Found")
    expect(ann.locator("main")).not_to_contain_text("eve")


def test_the_secret_of_a_token_stays_until_one_leaves(stage: Stage) -> None:
    page = stage.opens("root", Role.ADMIN, path="/tokens")
    page.get_by_label("Name").fill("deploy")
    page.get_by_label("Role").select_option("operator")
    page.get_by_role("button", name="Create").click()
    secret = page.locator("pre.secret").inner_text()
    looked = looks(page)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    # A fetch by the page would come before this one.
    page.evaluate("async () => (await fetch('/login')).text()")
    assert not looked
    assert page.locator("pre.secret").inner_text() == secret
    assert stage.logs_in(secret)
    page.goto("/tokens")
    expect(page.locator("pre.secret")).to_have_count(0)
