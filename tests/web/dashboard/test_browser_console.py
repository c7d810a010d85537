"""The frame, tasks and the fleet in a real browser: by keyboard, without scripts, and live."""

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tests.factories import announcement, make_job
from tests.web.dashboard.browser import PATIENCE, needs_chromium
from tests.web.dashboard.scenes import SCHEMA
from tests.web.dashboard.stage import APP, Stage
from tests.workers import Watcher, running_worker

pytestmark = needs_chromium

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module", autouse=True)
def shop(staged: Stage) -> None:
    staged.store.announce_tasks([announcement("shop.crawl", schema=SCHEMA)])


def test_a_job_is_found_and_enqueued_by_keyboard_alone(stage: Stage) -> None:
    page = stage.opens("ann", path="/queues")
    expect(page.locator("h1")).to_have_text("Queues")
    page.keyboard.press("Control+k")
    page.keyboard.type("shop.cr")
    expect(page.locator("#jump-places option")).to_have_count(1)
    assert page.locator("#jump-places option").get_attribute("value") == "shop.crawl"
    page.keyboard.type("awl")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("shop.crawl")
    for _ in range(60):  # the field is reached by Tab
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "arg.site":
            break
    page.keyboard.type("example.org")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Job ")
    job = int(page.url.rpartition("/")[2])
    assert stage.store.show(job).args == {"site": "example.org"}
    page.wait_for_load_state()  # the key has no meaning before the script has run
    page.keyboard.press("/")
    page.keyboard.type("no slash in it")
    expect(page.locator("#jump")).to_have_value("no slash in it")


def test_a_group_of_pages_stays_folded(stage: Stage) -> None:
    page = stage.opens("ann", path="/jobs")
    link = page.get_by_role("link", name="Policies")
    expect(link).to_be_visible()
    page.locator(".side summary", has_text="Stops").press("Enter")
    expect(link).to_be_hidden()
    page.reload()
    expect(link).to_be_hidden()
    page.locator(".side summary", has_text="Stops").click()
    expect(link).to_be_visible()


def test_without_scripts_a_job_is_enqueued_and_another_tenant_opened(stage: Stage) -> None:
    stage.client.migrate(Tenant("acme"))
    page = stage.opens("root", Role.ADMIN, path="/tasks/shop.crawl", java_script_enabled=False)
    page.get_by_label("site").fill("<b>here</b>")
    page.get_by_label("depth").fill("eleven")
    page.get_by_role("button", name="Enqueue shop.crawl").click()
    expect(page.get_by_role("alert")).to_contain_text("depth: it takes a whole number")
    expect(page.get_by_label("site")).to_have_value("<b>here</b>")
    page.get_by_label("depth").fill("7")
    page.get_by_role("button", name="Enqueue shop.crawl").click()
    expect(page.locator("h1")).to_contain_text("Job ")
    page.get_by_label("Tenant").select_option("acme")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("main")).to_have_attribute("data-tenant", "acme")


def test_a_worker_is_drained_and_its_lane_empties(stage: Stage, tmp_path: Path) -> None:
    job = make_job(stage.store, "tests.apps.paged.walk", queue="fleet")
    with running_worker(stage.url, tmp_path, "--queues", "fleet", app=APP):
        Watcher(stage.store).becomes(job, State.RUNNING)
        page = stage.opens("root", Role.ADMIN, path="/fleet")
        lane = page.locator(".lane")
        expect(lane.locator("li a")).to_contain_text("tests.apps.paged.walk")
        lane.locator("summary", has_text="Drain").click()
        lane.get_by_label("Reason").fill("new host")
        lane.get_by_role("button", name="Drain worker").click()
        expect(lane.locator(".status")).to_contain_text("draining")
        expect(lane.locator("li")).to_have_count(1)
        stage.store.stop(job, reason="enough")
        expect(lane.locator("li")).to_have_count(0)
        expect(lane.locator(".status")).to_contain_text("left")


def test_a_refresh_that_comes_too_often_keeps_what_was_filled_in(stage: Stage) -> None:
    def answer(route: Route) -> None:
        if "x-fragment" in route.request.headers:
            text = "<!doctype html><main><h1>Too Many Requests</h1></main>"
            route.fulfill(status=429, content_type="text/html", body=text)
        else:
            route.continue_()

    page = stage.opens("root", Role.ADMIN, path="/pools")
    page.locator("#pool-name").fill("half")
    page.route("**/pools", answer)
    expect(page.locator(".cut")).to_be_visible()
    page.unroute("**/pools")
    expect(page.locator(".cut")).to_be_hidden()
    expect(page.locator("#pool-name")).to_have_value("half")
