"""The time of a job and its family as bars, in any window of time."""

from datetime import timedelta
from typing import Any

from tenure.domain.lifecycle import State
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tenure.web.dashboard.timeline import Timeline, timeline
from tenure.web.dashboard.window import WIDTH
from tests.factories import make_job, make_job_in, make_worker, promote
from tests.store.test_steps import keep, running, step
from tests.web.dashboard.visitor import Visitor, said, tags


def drawn(store: Store, job: int, **window: Any) -> Timeline:
    steps = store.newest_output(job, "steps")
    family = store.family(job, **window)
    return timeline(store.show(job), family, None, steps, (), store.job_output(job, "events"))


def names(seen: Timeline) -> list[str]:
    return [row.name for row in seen.rows]


def test_a_job_that_waits_says_for_what(store: Store) -> None:
    job = make_job(store, delay=timedelta(hours=1))
    [own] = drawn(store, job).rows
    assert own.text.startswith("waiting for time ")
    assert [bar.tone for bar in own.bars] == ["wait"]


def test_every_attempt_is_a_bar_within_the_drawing(store: Store) -> None:
    job = make_job(store, max_attempts=3)
    worker = make_worker(store)
    for _ in range(2):
        worker.finish(worker.claim_one(), "retry", error={"message": "no"})
        promote(store)
    worker.claim_one()
    seen = drawn(store, job)
    assert names(seen)[:4] == [f"job {job}", "attempt 1", "attempt 2", "attempt 3"]
    assert "running" in seen.rows[3].text
    assert [bar.tone for bar in seen.rows[0].bars if bar.tone != "wait"] == ["bad", "bad", "busy"]
    for row in seen.rows:
        for bar in row.bars:
            assert bar.width > 0
            assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 3


def test_a_job_that_completed_at_once_has_its_bar(store: Store) -> None:
    [own] = drawn(store, make_job_in(store, State.COMPLETED)).rows
    assert "completed in" in own.text
    assert own.bars[-1].tone == "good"


def test_steps_are_rows(store: Store) -> None:
    worker, job = running(store)
    keep(worker, job, step("plan"), step("write"))
    assert names(drawn(store, job.id))[1:3] == ["step plan", "step write"]


def test_checkpoints_are_marks_and_spending_is_a_curve_over_time(
    store: Store, root: Visitor
) -> None:
    worker, job = running(store, budget={"tokens": 10})
    for n in range(3):
        spent = {"tokens": 3.0, "<b>": 1.0} if n else {"tokens": 1.0}
        told = Report(job=job.id, token=job.token, checkpoint={"n": n}, spent=spent)
        store.report(worker.id, [told])
    seen = drawn(store, job.id)
    assert names(seen)[1:4] == ["checkpoints", "spent <b>", "spent tokens"]
    own, marked, _, spent_row, *_ = seen.rows
    assert [mark.tone for mark in marked.marks] == ["checkpoint"] * 3
    assert all(own.bars[-1].x <= mark.x <= WIDTH for mark in marked.marks)
    assert marked.marks[0].text.startswith("checkpoint at ")
    assert marked.text.startswith("3, the last at ")
    assert spent_row.text == "7 tokens of 10"
    [(tone, path)] = spent_row.curves
    assert tone == "accent"
    assert path.count("V") == 4, "a step for each report, and the end"
    assert path.endswith(f"V10.0H{WIDTH}V24Z"), "7 of 10 is 14 of 20 high"
    page = root.sees(f"/jobs/{job.id}")
    assert "<title>checkpoint at " in page
    assert "spent &lt;b&gt;" in page
    assert "3, the last at" in said(page)
    zoomed = drawn(store, job.id, since=seen.window.last)
    path = zoomed.rows[3].curves[0][1]
    assert path.startswith("M0 24"), "what was spent before the window is its level at its start"


def test_a_family_is_a_tree_with_arguments_that_tell_children_apart(store: Store) -> None:
    parent = make_job(store)
    children = [make_job(store, "crawl", parent=parent, args={"site": n}) for n in "ab"]
    below = make_job(store, "crawl", parent=children[0], args={"page": 1})
    [own, *rows] = drawn(store, parent).rows
    assert [(row.job, row.depth, row.detail) for row in rows] == [
        (children[0], 1, "site=a"),
        (below, 2, "page=1"),
        (children[1], 1, "site=b"),
    ]
    assert own.name == f"job {parent}"


def test_a_window_shows_a_part_and_its_address_is_checked(root: Visitor, store: Store) -> None:
    job = make_job_in(store, State.COMPLETED)
    page = root.sees(f"/jobs/{job}")
    [zoom] = [at["href"] for tag, at in tags(page) if at.get("title") == "Zoom in"]
    assert "from=" in zoom
    part = root.sees(zoom)
    assert [at["href"] for tag, at in tags(part) if tag == "a" and at.get("title") == "Later"]
    for wrong in ("from=x", "from=-1", "from=2&to=1", "to=nan", "from=1e99", "state=no", "after=x"):
        assert root.see(f"/jobs/{job}?{wrong}").status_code == 422, wrong
    far = said(root.sees(f"/jobs/{job}?from=4000000000"))
    assert "Timeline" in far


def test_a_family_of_many_is_read_page_by_page_and_by_state(root: Visitor, store: Store) -> None:
    parent = make_job(store)
    children = [make_job(store, parent=parent) for _ in range(90)]
    store.stop(children[7])
    seen: list[int] = []
    path = f"/jobs/{parent}"
    while path:
        page = root.sees(path)
        seen += [
            int(at["data-key"][1:])
            for tag, at in tags(page)
            if tag == "li" and "depth-1" in at.get("class", "") and "data-key" in at
        ]
        path = next((at["href"] for _, at in tags(page) if at.get("rel") == "next"), "")
    assert seen == children
    only = root.sees(f"/jobs/{parent}?state=cancelled")
    assert f'data-key="t{children[7]}"' in only
    assert f'data-key="t{children[8]}"' not in only
    assert "90 children" in said(only)
