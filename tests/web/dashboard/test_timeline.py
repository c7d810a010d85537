"""The time of a job as bars."""

from datetime import timedelta

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tenure.web.dashboard.timeline import WIDTH, Timeline, timeline
from tests.factories import make_job, make_job_in, make_worker, promote


def drawn(store: Store, job: int) -> Timeline:
    children = store.list_jobs({"parent": job})
    return timeline(store.show(job), None, children, (), store.job_output(job, "events"))


def names(seen: Timeline) -> list[str]:
    return [row.name for row in seen.rows]


def test_a_job_that_waits_says_for_what(store: Store) -> None:
    job = make_job(store, delay=timedelta(hours=1))
    seen = drawn(store, job)
    assert names(seen) == ["waiting"]
    assert "for its time" in seen.rows[0].text


def test_every_attempt_is_a_bar_within_the_drawing(store: Store) -> None:
    job = make_job(store, max_attempts=3)
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "retry", error={"message": "no"})
    promote(store)
    worker.finish(worker.claim_one(), "retry", error={"message": "no"})
    promote(store)
    worker.claim_one()
    seen = drawn(store, job)
    assert names(seen)[:4] == ["waiting", "attempt 1", "attempt 2", "attempt 3"]
    assert "running" in seen.rows[3].text
    for row in seen.rows:
        for bar in row.bars:
            assert bar.width > 0
            assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 0.2


def test_a_job_that_completed_at_once_has_its_bar(store: Store) -> None:
    seen = drawn(store, make_job_in(store, State.COMPLETED))
    assert names(seen) == ["waiting", "attempt 1"]
    assert "completed in" in seen.rows[1].text
    assert seen.rows[1].bars[0].tone == "good"


def test_children_are_beneath(store: Store) -> None:
    parent = make_job(store)
    child = make_job(store, parent=parent)
    assert names(drawn(store, parent)) == ["waiting", f"job {child}"]
