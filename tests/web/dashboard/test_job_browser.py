"""The page of a job in a real browser: its stop, its question, its timeline and its output."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from bench.page_family import fill_family
from playwright.sync_api import Page, expect

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Role
from tests.factories import make_job
from tests.web.dashboard.browser import PATIENCE, needs_chromium
from tests.web.dashboard.stage import APP, Stage
from tests.web.dashboard.test_appearance import AXE, CHECK, WIDER
from tests.workers import Watcher, eventually, running_worker

pytestmark = needs_chromium

expect.set_options(timeout=PATIENCE)
PAGED = APP.partition(":")[0]
# Set on the document: it is gone after the page has been loaded again.
STAYS = "document.isThis = true"
STAYED = "document.isThis === true"


@pytest.fixture(scope="module", autouse=True)
def worker(staged: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    kept = {"TENURE_ARTIFACTS": staged.artifacts}
    folder = tmp_path_factory.mktemp("worker")
    options = ("--queues", "default", "--processes", "2")
    with running_worker(staged.url, folder, *options, app=APP, settings=kept):
        yield


def check(page: Page, *, dark: bool = False) -> None:
    """Check that a page is accessible and fits, on a phone and on a screen."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    folded = page.locator("details:not([open])").element_handles()
    for each in folded:
        each.evaluate("each => each.open = true")
    page.evaluate(AXE)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDER) == [], width
        assert page.evaluate(CHECK) == [], width
    for each in folded:
        each.evaluate("each => each.open = false")


def test_a_family_is_stopped_with_a_countdown_and_forced_by_keyboard(stage: Stage) -> None:
    store = stage.store
    parent = make_job(store, f"{PAGED}.stubborn_family", owner="ann", max_attempts=1)
    eventually(
        lambda: (
            [each.state for each in store.list_jobs({"parent": parent})].count(State.RUNNING) == 3
        ),
        "the children run",
    )
    page = stage.opens("ann", path=f"/jobs/{parent}")
    expect(page.locator(".timeline .row-child")).to_have_count(3)
    expect(page.locator(".timeline")).to_contain_text("label=child 1")
    store.stop(parent, reason="too <b>loud</b>", by="ann", grace=timedelta(hours=2))
    expect(page.locator(".strip .why")).to_have_text("ann: too <b>loud</b>")
    countdown = page.locator(".strip .next time")
    expect(page.locator(".strip .next")).to_contain_text("if any of them is still running")
    store.stop(parent, reason="too loud", by="ann", grace=timedelta(seconds=50))
    expect(countdown).to_contain_text(" s")
    first = countdown.inner_text()
    cursor = page.locator(".strip .cursor")
    place = cursor.get_attribute("d")
    expect(countdown).not_to_have_text(first)  # it counts by itself
    expect(cursor).not_to_have_attribute("d", place or "")
    expect(page.locator(".lanes li")).to_have_count(3)
    expect(page.locator(".lanes .said.open")).to_have_count(1)
    check(page)

    page.locator(".stop-line summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("at once")
    page.keyboard.press("Enter")
    proof = page.locator(".strip .proof")
    expect(proof).to_contain_text("Proven: cancelled means gone.")
    expect(proof).to_contain_text("4 jobs")
    expect(page.locator(".rungs li.done .name", has_text="SIGKILL")).to_be_visible()
    expect(page.locator(".rungs .at-cleaned-up")).to_contain_text("bank session was closed")
    expect(page.locator(".lanes .said.open")).to_have_count(0)
    assert store.cancellation(job=parent).force
    check(page, dark=True)
    page.get_by_role("link", name="cancel-").click()
    expect(page.locator("tbody tr")).to_have_count(4)
    check(page)


def test_a_question_is_answered_and_a_paused_job_is_resumed_with_a_value(stage: Stage) -> None:
    store = stage.store
    job = make_job(store, f"{PAGED}.asks", owner="ann")
    eventually(lambda: store.questions(job), "it asks")
    page = stage.opens("ann", path=f"/jobs/{job}")
    form = page.locator(".lead.asks form")
    expect(page.locator(".lead.asks h2")).to_contain_text("Refund <i>it</i>?")
    check(page)
    form.get_by_label("yes").check()
    form.get_by_label("voucher").check()
    form.get_by_label("note").fill("with thanks")
    form.get_by_role("button", name=f"Answer job {job}").click()
    expect(page.locator(".lead.waits h2")).to_contain_text("Paused: voucher, with thanks")
    check(page, dark=True)
    page.get_by_label("Value").fill('{"paid": true}')
    page.get_by_role("button", name=f"Resume job {job}").click()
    expect(page.locator(".lead.result")).to_contain_text('"paid": true')
    expect(page.locator(".row-step")).to_have_count(3)
    expect(page.locator(".row-spending")).to_contain_text("7 tokens")
    check(page)


def test_the_page_of_a_job_needs_no_script(stage: Stage) -> None:
    store = stage.store
    job = make_job(store, f"{PAGED}.breaks", owner="ann", max_attempts=1, args={"message": "<b>x"})
    Watcher(store).becomes(job, State.FAILED)
    page = stage.opens("ann", path=f"/jobs/{job}", java_script_enabled=False)
    expect(page.locator(".lead.wrong .problem")).to_have_text("<b>x")
    expect(page.locator(".lead.wrong pre.traceback")).to_be_visible()
    page.get_by_role("link", name="Zoom in").click()
    page.get_by_role("link", name="Later").click()
    expect(page.locator(".zoom")).to_contain_text("All")
    page.get_by_role("link", name="Attempts 1").click()
    expect(page.locator(".tab tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Log", exact=True).click()
    page.get_by_label("Level").select_option("error")
    page.get_by_role("button", name="Search").last.click()
    expect(page.locator("pre.log")).to_contain_text("about to break")


def test_artifacts_are_shown_and_only_as_what_they_are(stage: Stage) -> None:
    store = stage.store
    job = make_job(store, f"{PAGED}.draws", owner="ann")
    Watcher(store).becomes(job, State.COMPLETED)
    page = stage.opens("ann", path=f"/jobs/{job}?tab=artifacts")
    page.evaluate(STAYS)
    page.get_by_role("link", name="page.html", exact=True).click()
    expect(page.locator(".preview pre")).to_have_text("<script>alert(1)</script>")
    page.get_by_role("link", name="dot.png", exact=True).click()
    expect(page.locator(".preview img")).to_be_visible()
    expect(page.locator(".preview img")).to_have_js_property("naturalWidth", 1)
    assert page.evaluate(STAYED)
    for name, status in (("dot.png", 200), ("page.html", 404), ("none", 404)):
        answer = page.request.get(f"/jobs/{job}/images/{name}")
        assert answer.status == status
    check(page)


def test_the_timeline_is_zoomed_by_dragging_and_back_by_the_browser(stage: Stage) -> None:
    job = make_job(stage.store, f"{PAGED}.walk", owner="ann", args={"steps": 3})
    Watcher(stage.store).becomes(job, State.COMPLETED)
    page = stage.opens("ann", path=f"/jobs/{job}")
    page.evaluate(STAYS)
    bar = page.locator(".row-job svg")
    box = bar.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 8, steps=4)
    page.mouse.up()
    timeline = page.locator(".timeline")
    whole = float(timeline.get_attribute("data-whole") or 0)
    expect(page.get_by_role("link", name="Zoom out")).to_be_visible()
    shown = float(timeline.get_attribute("data-to") or 0) - float(
        timeline.get_attribute("data-from") or 0
    )
    assert shown == pytest.approx(whole / 2, rel=0.05)
    assert "from=" in page.url
    page.go_back()
    expect(page.get_by_role("link", name="Zoom out")).to_have_count(0)
    assert page.evaluate(STAYED), "the page was not loaded again"


def test_ten_thousand_children_stay_usable(stage: Stage) -> None:
    with psycopg.connect(stage.url, autocommit=True) as connection:
        job = fill_family(stage.store, connection, 10_000)
    page = stage.opens("root", Role.ADMIN, path="/")
    with page.expect_response(lambda answer: answer.url.endswith(f"/jobs/{job}")) as answered:
        page.goto(f"/jobs/{job}")
    assert len(answered.value.body()) < 150_000
    assert page.evaluate("document.querySelectorAll('*').length") < 2_500
    expect(page.locator(".row-crowd")).to_contain_text("10,000 children")
    failed = page.locator(".states a", has_text="failed")
    failed.click()
    expect(page.locator(".row-child .said").first).to_contain_text("failed")
    expect(page.locator(".row-child")).to_have_count(40)
    page.get_by_role("link", name="Next children").click()
    expect(page.get_by_role("link", name="First children")).to_be_visible()
    expect(page.locator(".row-child .said").first).to_contain_text("failed")

    stage.store.stop(job, intent=Intent.CANCEL, reason="all of it", by="root")
    expect(page.locator(".crowd")).to_be_visible()
    expect(page.locator(".lanes")).to_contain_text("other jobs ended")
    expect(page.locator(".lanes li")).to_have_count(6)
    stage.store.enqueue(NewJob(task="never", after=[job]))
    page.reload()
    expect(page.locator(".graph .node")).to_have_count(2)
    check(page)
