"""Two of our own transactions that touch the same rows in opposite orders."""

from concurrent.futures import Future
from typing import Any

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung
from tenure.errors import StoreUnavailable
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls, webhook_calls, worker_calls
from tenure.store.outcomes import Artifact, Report
from tenure.store.store import Store
from tenure.store.webhook_results import AttemptedDelivery
from tests.factories import ending, make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Session, Stage


def both_end(stage: Stage, first: "Future[Any]", second: "Future[Any]", *order: Session) -> None:
    """Open the gate, and commit each as soon as it is through."""
    stage.go_on()
    for session, future in zip(order, (first, second), strict=True):
        future.result()
        session.commit()


def test_two_reports_about_the_same_jobs_in_opposite_orders_do_not_deadlock(
    store: Store, stage: Stage
) -> None:
    for _ in range(2):
        make_job(store)
    worker = make_worker(store)
    jobs = worker.claim(2)
    reports = [
        Report(job=job.id, token=job.token, progress={"done": 1}, artifacts=[Artifact("f", "u", 1)])
        for job in jobs
    ]
    store.report(worker.id, reports)  # the rows are there
    a, b = stage.session(), stage.session()
    stage.stop_at_row("artifact", "INSERT", a, passes=1)

    first = stage.waits(a, worker_calls.report(worker.id, reports))
    second = stage.sent(b, worker_calls.report(worker.id, reports[::-1]))
    stage.is_waiting(b, second)
    both_end(stage, first, second, a, b)


def test_an_ending_and_a_change_of_the_same_slots_do_not_deadlock(
    store: Store, stage: Stage
) -> None:
    store.create_pool("p", ["a", "b"])
    one, two = (make_job(store, pools=["p"]) for _ in range(2))
    worker = make_worker(store)
    jobs = {job.id: job for job in worker.claim(2)}
    # The first job holds the second slot, and that lies first.
    for slot, holder in (("b", one), ("a", two)):
        stage.sql.execute(
            "WITH gone AS (DELETE FROM tenure.slot WHERE name = %s) INSERT INTO tenure.slot "
            "VALUES ('p', %s || ' ', %s, tenure.now())",
            (slot, slot, holder),
        )
    a, b = stage.session(), stage.session()
    stage.stop_at_row("slot", "UPDATE", a)

    first = stage.waits(a, worker_calls.finish(worker.id, [ending(jobs[one]), ending(jobs[two])]))
    second = stage.sent(b, control_calls.change_slots("p", add=["c"], remove=["a ", "b "]))
    stage.is_waiting(b, second)
    both_end(stage, first, second, a, b)


def test_two_changes_that_add_the_same_slots_in_opposite_orders_do_not_deadlock(
    store: Store, stage: Stage
) -> None:
    store.create_pool("p")
    a, b = stage.session(), stage.session()
    stage.stop_at_row("slot", "INSERT", a, passes=1)

    first = stage.waits(a, control_calls.change_slots("p", add=["a", "b"]))
    second = stage.sent(b, control_calls.change_slots("p", add=["b", "a"]))
    stage.is_waiting(b, second)
    both_end(stage, first, second, a, b)


def test_an_ending_does_not_wait_for_an_escalation_of_its_stop(store: Store, stage: Stage) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(task="work", parent="root") for _ in range(2))]
    )
    worker = make_worker(store)
    job, _ = worker.claim(2)
    store.stop(ids["root"])
    a, b = stage.session(), stage.session()

    a(control_calls.stop(ids["root"], force=True))
    said = [ending(job, "stopped", rung=Rung.ASKED, heard=True)]
    finish = stage.sent(b, worker_calls.finish(worker.id, said))
    waited = stage.is_waiting(b, finish)
    a.commit()

    finish.result()
    b.commit()
    assert not waited, "finish waited for somebody's lock"


def test_an_escalation_and_the_endings_it_is_about_do_not_deadlock(
    store: Store, stage: Stage
) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(task="work", parent="root") for _ in range(2))]
    )
    worker = make_worker(store)
    jobs = worker.claim(2)
    store.stop(ids["root"])
    # Members that lie in another order than their jobs, as when a later look finds an earlier job.
    stage.sql.execute("CREATE TEMP TABLE moved AS SELECT * FROM tenure.member")
    stage.sql.execute("DELETE FROM tenure.member")
    stage.sql.execute("INSERT INTO tenure.member SELECT * FROM moved ORDER BY job_id DESC")
    a, b = stage.session(), stage.session()
    stage.stop_at_row("signal", "UPDATE", a)

    first = stage.waits(a, control_calls.stop(ids["root"], force=True))
    said = [ending(job, "stopped", rung=Rung.ASKED, heard=True) for job in jobs]
    second = stage.sent(b, worker_calls.finish(worker.id, said))
    stage.is_waiting(b, second)
    both_end(stage, first, second, a, b)


def test_replacements_of_jobs_in_two_trees_do_not_deadlock_with_a_cascade(
    store: Store, stage: Stage
) -> None:
    low = make_job(store, unique="b")
    make_job(store, unique="a", after=[low])
    a, b = stage.session(), stage.session()
    stage.stop_before("insert_job", a, passes=1)

    # Replaces the one in the upper tree, then the one in the lower.
    first = stage.waits(
        a,
        enqueue_calls.enqueue(
            [NewJob(task="work", unique=key, when_taken="replace") for key in ("a", "b")]
        ),
    )
    second = stage.sent(b, control_calls.stop(low))  # the lower tree, then the upper
    stage.is_waiting(b, second)
    stage.go_on()
    # Not waited for: nothing was done, and the store asks again.
    with pytest.raises(StoreUnavailable, match="could not obtain lock"):
        first.result()
    a.rollback()
    assert second.result().status == "completed"
    b.commit()
    promote(store)


def test_a_stop_and_a_resume_below_one_root_do_not_deadlock(store: Store, stage: Stage) -> None:
    ids = make_jobs(
        store,
        [NewJob(key="root"), *(NewJob(task="work", key=f"k{n}", parent="root") for n in range(3))],
    )
    worker = make_worker(store)
    for job in worker.claim(2):
        worker.finish(job, "failed")
    a, b = stage.session(), stage.session()
    stage.stop_before("lock_tree", a)

    first = stage.waits(a, control_calls.stop(ids["root"]))
    second = stage.waits(b, control_calls.clear(ids["k0"]))
    both_end(stage, first, second, a, b)
    promote(store)

    assert stage.states(ids["k0"], ids["k2"]) == ("cancelled", "cancelled")


@pytest.mark.parametrize(
    "change", [webhook_calls.redeliver("hook"), webhook_calls.drop_webhook("hook")]
)
def test_an_attempt_and_a_change_of_its_webhook_do_not_deadlock(
    store: Store, stage: Stage, change: Call[Any]
) -> None:
    store.set_webhook("hook", "https://hooks.example.org/in")
    store.test_webhook("hook")
    [taken] = store.take_deliveries("hook")
    failed = [AttemptedDelivery(taken.id, taken.attempt, status=500, error="no")]
    a, b = stage.session(), stage.session()
    stage.stop_at_row("webhook", "UPDATE OR DELETE", a)

    first = stage.waits(a, change)
    second = stage.waits(b, webhook_calls.record_deliveries("hook", failed))
    both_end(stage, first, second, a, b)
