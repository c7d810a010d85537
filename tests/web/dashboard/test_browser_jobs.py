"""The list of jobs in a real browser: search, selection and live rows, also on a phone."""

import pytest
from playwright.sync_api import Page, expect

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tests.factories import make_job
from tests.web.dashboard.browser import PATIENCE, needs_chromium
from tests.web.dashboard.stage import Stage, looks
from tests.web.dashboard.test_appearance import AXE, CHECK, WIDER

pytestmark = needs_chromium

EVIL = '"><img src=x onerror=alert(1)>'
expect.set_options(timeout=PATIENCE)


def box(page: Page, job: int) -> str:
    return f'input[name=id][value="{job}"]'


def test_the_search_is_completed_by_keyboard(stage: Stage) -> None:
    make_job(stage.store, "shop.charge", queue="words", owner="two words", tags=[EVIL])
    wanted = make_job(stage.store, "shop.crawl", queue="words", owner="two words")
    page = stage.opens("vic", Role.VIEWER, path="/jobs")
    field, words = page.get_by_role("combobox", name="Search jobs"), page.locator("[role=option]")
    field.focus()
    page.keyboard.type("ow")
    expect(words).to_have_text(["owner: who enqueued it"])
    assert field.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    active = field.get_attribute("aria-activedescendant")
    assert active == words.first.get_attribute("id")
    page.keyboard.press("Enter")
    expect(field).to_have_value("owner:")
    expect(words.filter(has_text="two words")).to_have_count(1)
    page.keyboard.type("tw")
    expect(words).to_have_count(1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    expect(field).to_have_value('owner:"two words" ')
    page.keyboard.type("tag:")
    expect(words.filter(has_text="<img")).to_have_count(1)
    assert page.locator("img").count() == 0, "a value is text"
    page.keyboard.press("Escape")
    expect(words.first).to_be_hidden()
    for _ in "tag:":
        page.keyboard.press("Backspace")
    page.keyboard.type("task:shop.crawl")
    page.keyboard.press("Enter")
    expect(page.locator("tr[data-key]")).to_have_count(1)
    expect(page.locator("tr[data-key] th")).to_have_text(str(wanted))
    expect(field).to_have_value('task:shop.crawl owner:"two words"')
    page.evaluate(AXE)
    field.focus()
    page.keyboard.type(" st")
    expect(words).to_have_count(1)
    assert page.evaluate(CHECK) == [], "also while words are offered"


def test_a_selection_stays_while_the_list_lives(stage: Stage) -> None:
    jobs = [make_job(stage.store, queue="live", owner="ann") for _ in range(5)]
    page = stage.opens("ann", path="/jobs?queue=live")
    rows = page.locator("tr[data-key]")
    expect(rows).to_have_count(5)
    expect(page.get_by_role("button", name="Cancel…")).to_be_disabled()
    page.locator(box(page, jobs[3])).click()
    page.locator(box(page, jobs[1])).click(modifiers=["Shift"])
    expect(page.locator("[data-picked]")).to_have_text("3 selected")
    place = page.locator(f"#j{jobs[3]}").bounding_box()
    fresh = [make_job(stage.store, queue="live", owner="ann") for _ in range(2)]
    stage.store.stop(jobs[4])
    show = page.get_by_role("button", name="Show 2 new jobs")
    expect(show).to_be_visible()
    expect(page.locator(f"#j{jobs[4]} .status")).to_have_text("⊘ cancelled")
    assert page.locator(f"#j{jobs[3]}").bounding_box() == place, "nothing has moved"
    expect(page.locator("[data-picked]")).to_have_text("3 selected")
    expect(page.get_by_role("button", name="Cancel…")).to_be_enabled()
    show.click()
    expect(rows).to_have_count(7)
    expect(rows.first).to_have_attribute("data-key", str(fresh[1]))
    expect(page.locator("[data-picked]")).to_have_text("3 selected")

    page.get_by_role("button", name="Pause…").click()
    expect(page.locator("h1")).to_have_text("Pause 3 jobs?")
    page.get_by_role("link", name="Keep them as they are").click()
    expect(rows.first).to_be_visible()
    page.goto("/jobs?queue=live")
    page.locator("[data-page]").click()
    expect(page.locator("[data-picked]")).to_have_text("7 selected")


def test_a_tree_opens_where_it_is(stage: Stage) -> None:
    root = make_job(stage.store, "shop.family", owner="ann")
    made = stage.store.enqueue([NewJob(task="shop.page", parent=root)] * 3)
    page = stage.opens("vic", Role.VIEWER, path="/jobs")
    fetched = looks(page)
    toggle = page.locator(f"#j{root} a[aria-expanded]")
    toggle.focus()
    page.keyboard.press("Enter")
    expect(page.locator("tr.depth-1")).to_have_count(3)
    expect(toggle).to_have_attribute("aria-expanded", "true")
    expect(toggle).to_be_focused()
    assert fetched, "without loading the page"
    assert page.evaluate("location.search") == f"?open={root}"
    stage.store.stop(made[0].id)
    expect(page.locator(f"#j{made[0].id} .status")).to_have_text("⊘ cancelled")
    page.keyboard.press("Enter")
    expect(page.locator("tr.depth-1")).to_have_count(0)


@pytest.mark.parametrize("script", [True, False])
def test_jobs_are_selected_and_cancelled_on_a_phone_in_the_dark(stage: Stage, script: bool) -> None:
    jobs = [
        make_job(stage.store, "x" * 150, queue=f"phone-{script}", owner="ann", args={"a": EVIL})
        for _ in range(3)
    ]
    page = stage.opens(
        "ann",
        path=f"/jobs?queue=phone-{script}",
        viewport={"width": 390, "height": 800},
        color_scheme="dark",
        java_script_enabled=script,
    )
    expect(page.locator("tr[data-key]")).to_have_count(3)
    expect(page.locator("tbody")).to_contain_text(EVIL)
    if script:
        assert page.evaluate(WIDER) == []
        page.evaluate(AXE)
        assert page.evaluate(CHECK) == []
    for job in jobs[:2]:
        page.locator(box(page, job)).check()
    page.get_by_role("button", name="Cancel…").click()
    expect(page.locator("h1")).to_have_text("Cancel 2 jobs?")
    page.get_by_label("Reason").fill("wrong site")
    page.get_by_role("button", name="Cancel 2 jobs").click()
    expect(page.locator("main")).to_contain_text("2 of 2 asked to stop")
    assert [stage.store.show(job).state for job in jobs] == [
        *(State.CANCELLED, State.CANCELLED, State.PENDING)
    ]
