"""explain: why is a job not running, and why is it not stopping."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import NEVER, NewJob
from tenure.domain.lifecycle import Intent, State, Status
from tenure.errors import JobNotFound
from tenure.store.results import ExplainedReason
from tenure.store.store import Store
from tests.factories import end_as_stopped, make_job, make_job_in, make_jobs, make_worker, promote

ERROR = {"type": "ValueError", "message": "no"}
HOUR = timedelta(hours=1)


def reasons(store: Store, job: int) -> dict[str, ExplainedReason]:
    return {reason.reason: reason for reason in store.explain(job).reasons}


def only(store: Store, job: int) -> ExplainedReason:
    (reason,) = store.explain(job).reasons
    return reason


def test_a_job_that_runs_or_has_ended_normally_has_no_reason(store: Store) -> None:
    worker = make_worker(store)
    job = make_job(store)
    assert (store.explain(job).reasons, store.explain(job).status) == ((), Status.QUEUED)
    claimed = worker.claim_one()
    assert store.explain(job).reasons == ()
    worker.finish(claimed)
    assert store.explain(job).reasons == ()


def test_a_job_that_does_not_exist_has_no_explanation(store: Store) -> None:
    with pytest.raises(JobNotFound, match=r"^there is no job 4711$"):
        store.explain(4711)


def test_it_is_not_queued_yet_or_its_time_has_not_come(store: Store) -> None:
    worker = make_worker(store, HOUR)
    assert only(store, make_job(store, run_at=NEVER)).reason == "unqueued"
    scheduled = only(store, make_job(store, delay=HOUR))
    assert scheduled.reason == "time"
    assert scheduled.sentence.startswith("it is scheduled for ")
    make_job(store)
    job = worker.claim_one()
    run_at = store.show(job.id).created_at + HOUR
    worker.finish(job, "retry", error=ERROR, run_at=run_at)
    retrying = only(store, job.id)
    assert retrying.reason == "time"
    assert retrying.sentence.startswith("it failed and is tried again at ")


def test_a_job_that_waits_for_its_promotion_says_so(store: Store) -> None:
    make_worker(store)
    root = make_job(store, task=None)
    assert only(store, make_job(store, parent=root)).reason == "promotion"
    assert store.explain(make_job(store, target="site:x")).reasons != (), "it is not ready either"


def test_it_comes_after_another_job(store: Store) -> None:
    make_worker(store)
    ids = make_jobs(
        store,
        [
            NewJob(key="a", task="work"),
            NewJob(key="b", task="work"),
            NewJob(key="c", task="work", after=["a", "b"]),
        ],
    )
    store.stop(ids["a"], cascade=False)
    first, second = store.explain(ids["c"]).reasons
    assert {first.about, second.about} == {str(ids["a"]), str(ids["b"])}
    assert {first.reason, second.reason} == {"dependency"}
    by_job = {reason.about: reason.sentence for reason in (first, second)}
    assert by_job[str(ids["a"])] == (
        f"it comes after job {ids['a']}, which is cancelled and will not complete by itself"
    )
    assert by_job[str(ids["b"])] == f"it comes after job {ids['b']}, which is queued"


def test_it_waits_for_its_tasks_or_children(store: Store) -> None:
    worker = make_worker(store)
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(key=k, task="work", parent="root") for k in "ab")]
    )
    worker.finish(worker.claim_one())
    waiting = only(store, ids["root"])
    assert (waiting.reason, waiting.sentence) == (
        "tasks",
        "it waits for its children: 1 of 2 have ended",
    )
    above = worker.claim_one()
    make_job(store, parent=above.id)
    worker.release(above, until="children")
    promote(store)
    assert only(store, above.id).reason == "tasks"


@pytest.mark.parametrize("state", [State.RUNNING, State.PAUSED, State.FAILED])
def test_its_target_is_closed_by_another_job(store: Store, state: State) -> None:
    holder = make_job_in(store, state, target="site:x")
    second, third = (make_job(store, target="site:x") for _ in range(2))
    promote(store)
    make_worker(store)
    closed = reasons(store, second)["target"]
    assert closed.about == str(holder)
    assert closed.sentence == f"its target site:x is held by job {holder}, which is {state}"
    assert "line" not in reasons(store, second)
    assert reasons(store, third)["line"].sentence == "1 job is ahead of it for target site:x"


def test_its_queue_target_or_tenant_is_paused(store: Store) -> None:
    make_worker(store)
    job = make_job(store, target="site:x", queue="slow")
    promote(store)
    store.pause_dispatch("queue", "slow", reason="maintenance", by="ann")
    store.pause_dispatch("target", "site:x", by="bob")
    store.pause_dispatch("tenant")
    store.pause_dispatch("queue", "other")
    told = reasons(store, job)
    assert {"queue paused", "target paused", "tenant paused"} <= set(told)
    assert told["queue paused"].about == "slow"
    assert told["queue paused"].sentence.startswith("the queue slow is paused by ann since ")
    assert told["queue paused"].sentence.endswith(": maintenance")
    assert told["target paused"].sentence.startswith("the target site:x is paused by bob since ")
    assert told["tenant paused"].sentence.startswith("the tenant is paused by ")


def test_no_slot_is_free(store: Store) -> None:
    store.create_pool("tree", ["a"])
    store.create_pool("account", ["ann"])
    make_job(store, pools=["tree"])
    make_worker(store).claim_one()
    told = only(store, make_job(store, pools=["tree", "account"]))
    assert (told.reason, told.about) == ("pool", "tree")
    assert told.sentence == "no slot of pool tree is free"


def test_no_worker_serves_its_queue(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store, queue="slow")
    late, draining = make_worker(store), make_worker(store)
    make_worker(store, queues=["fast"])
    sql.execute(
        "UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'"
        " WHERE id = %s",
        (late.id,),
    )
    store.drain(draining.id)
    told = only(store, job)
    assert (told.reason, told.about) == ("no worker", "slow")
    assert told.sentence == "no live worker serves the queue slow"
    make_worker(store, queues=["slow"])
    assert store.explain(job).reasons == ()


def test_a_worker_of_its_queue_cannot_start_a_runner(store: Store, sql: psycopg.Connection) -> None:
    worker, elsewhere = make_worker(store), make_worker(store, queues=["other"])
    job = make_job(store)
    for each in (worker, elsewhere):
        store.renew(each.id, trouble="there are no pids left")
    told = only(store, job)
    assert (told.reason, told.about) == ("no runner", str(worker.id))
    sentence = " serves its queue and cannot start a runner: there are no pids left"
    assert told.sentence.startswith(f"worker {worker.id} on ")
    assert told.sentence.endswith(sentence)
    store.renew(worker.id)
    assert store.explain(job).reasons == ()


def test_jobs_ahead_of_it_in_its_queue_are_counted(store: Store) -> None:
    make_worker(store)
    make_job(store)
    last = make_job(store)
    make_job(store, priority=9)
    make_job(store, queue="other", priority=9)
    told = only(store, last)
    assert (told.reason, told.sentence) == ("turn", "2 ready jobs are ahead of it in its queue")


def test_a_stopping_job_says_who_asked_and_when_its_worker_learns_of_it(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    record = store.stop(job.id, reason="too dear", by="ann")
    told = only(store, job.id)
    assert (told.reason, told.about) == ("stopping", record.cancellation_id)
    assert told.sentence.startswith(
        f"ann asked to cancel it ({record.cancellation_id}): too dear; "
    )
    assert "its worker learns of it with its next heartbeat at the latest" in told.sentence
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'")
    late = reasons(store, job.id)
    assert "its lease has expired; the next recovery ends it" in late["stopping"].sentence
    store.leave(worker.id)
    assert "its worker is dead" in reasons(store, job.id)["stopping"].sentence


def test_it_is_not_stopped_because_something_below_it_runs(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(ids["root"])
    told = reasons(store, ids["root"])
    assert told["stopping"].sentence.endswith("it ends when no job below it runs")
    assert told["below"].about == str(job.id)
    assert told["below"].sentence == f"job {job.id} below it is cancelling"
    end_as_stopped(worker, job)
    promote(store)
    assert not {"stopping", "below"} & set(reasons(store, ids["root"]))


def test_its_worker_is_silent_or_was_never_known(store: Store, sql: psycopg.Connection) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'")
    silent = only(store, job.id)
    assert (silent.reason, silent.about) == ("orphan", str(worker.id))
    assert "has not renewed its lease since" in silent.sentence
    sql.execute("DELETE FROM tenure.worker")
    assert only(store, job.id).reason == "orphan"


def test_it_was_paused_cancelled_or_has_failed(store: Store) -> None:
    paused = make_job(store)
    store.stop(paused, intent=Intent.PAUSE, by="ann", reason="lunch")
    told = only(store, paused)
    assert told.reason == "paused"
    assert told.sentence == "it was paused by ann: lunch; resume it to continue"
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    worker.finish(job, "failed", error=ERROR)
    told = only(store, job.id)
    assert (told.reason, told.sentence) == ("failed", "it failed after 1 of 4 attempts: no")
    cancelled = make_job(store)
    store.stop(cancelled, by="ann")
    told = only(store, cancelled)
    assert told.reason == "cancelled"
    assert "ann" in told.sentence
