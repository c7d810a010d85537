"""A long list of jobs in a real browser."""

import psycopg
import pytest
from bench.page_filling import fill
from playwright.sync_api import Page, expect

from tenure.domain.job import NewJob
from tenure.domain.principal import Role
from tests.web.dashboard.browser import PATIENCE, needs_chromium
from tests.web.dashboard.stage import Stage

pytestmark = needs_chromium

MANY = 100_000
ON_A_PAGE = 50
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module", autouse=True)
def jobs(staged: Stage) -> None:
    with psycopg.connect(staged.url, autocommit=True) as connection:
        fill(connection, MANY)


def listed(page: Page) -> list[int]:
    return [int(one) for one in page.locator("tbody tr th").all_inner_texts()]


def test_pages_of_a_long_list_stay_where_they_are_while_jobs_arrive(stage: Stage) -> None:
    newest = stage.opens("vic", Role.VIEWER, path="/jobs")
    page = stage.opens("vic", Role.VIEWER, path="/jobs")
    expect(page.locator("tbody tr")).to_have_count(ON_A_PAGE)
    seen = listed(page)
    for _ in range(3):
        page.get_by_role("link", name="Older").click()
        expect(page.locator("tbody tr th").first).to_have_text(str(seen[-1] - 1))
        # Only now: the newest page is live, and would move on.
        made = stage.store.enqueue([NewJob(task="work", queue="new")] * 30)
        seen += listed(page)
    assert seen == list(range(MANY, MANY - 4 * ON_A_PAGE, -1))
    expect(newest.locator("tbody tr th").first).to_have_text(str(made[-1].id))
    page.get_by_role("link", name="Newest").click()
    expect(page.locator("tbody tr th").first).to_have_text(str(made[-1].id))


def test_a_long_list_is_filtered(stage: Stage) -> None:
    page = stage.opens("vic", Role.VIEWER, path="/jobs")
    page.get_by_text("Filter by field").click()
    page.get_by_label("Target").fill("site:rare")
    page.get_by_label("Status").select_option("completed")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    assert listed(page) == [50_007, 7]
    page.get_by_text("Filter by field").click()
    page.get_by_label("Tag").fill("eu")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("No jobs match this search")
    page.get_by_role("link", name="All jobs").click()
    page.get_by_text("Filter by field").click()
    page.get_by_label("Text in arguments").fill("NEEDLE")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("add another filter")
    page.go_back()
    page.get_by_text("Filter by field").click()
    page.get_by_label("Text in arguments").fill("NEEDLE")
    page.get_by_label("Status").select_option("completed")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(2)
