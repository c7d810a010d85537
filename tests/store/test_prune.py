"""prune: what has been over for long enough is deleted."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import After, NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused, JobNotFound, NotFound
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote

DAY = timedelta(days=1)
ERROR = {"type": "ValueError", "message": "no"}
ALL = {State.COMPLETED: DAY, State.FAILED: DAY, State.CANCELLED: DAY}


def exists(store: Store, job: int) -> bool:
    try:
        store.show(job)
    except JobNotFound:
        return False
    return True


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELLED])
def test_each_state_has_its_time(store: Store, clock: Clock, state: State) -> None:
    job = make_job_in(store, state)
    others = {kept: span for kept, span in ALL.items() if kept is not state}
    clock.advance(DAY - timedelta(minutes=1))
    assert store.prune(ALL).jobs == 0
    clock.advance(timedelta(minutes=2))
    assert store.prune(others).jobs == 0, "a state that is not named is kept for ever"
    assert store.prune(ALL).jobs == 1
    assert not exists(store, job)


def test_nothing_that_lives_is_pruned(store: Store, clock: Clock) -> None:
    jobs = [make_job_in(store, state) for state in (State.RUNNING, State.PAUSED, State.PENDING)]
    clock.advance(DAY * 1000)
    assert store.prune(ALL).jobs == 0
    assert all(exists(store, job) for job in jobs)
    with pytest.raises(InputRefused, match="only completed, failed and cancelled jobs"):
        store.prune({State.PAUSED: DAY})


def test_a_failed_job_that_blocks_its_target_is_kept(store: Store, clock: Clock) -> None:
    job = make_job_in(store, State.FAILED, target="site:x")
    clock.advance(DAY * 2)
    assert store.prune(ALL).jobs == 0
    store.clear(job)
    clock.advance(DAY * 2)
    assert store.prune(ALL).jobs == 1


def test_a_tree_goes_as_a_whole_or_not_at_all(store: Store, clock: Clock) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(key=k, task="work", parent="root") for k in "ab")]
    )
    worker = make_worker(store, DAY)
    first, second = worker.claim(2)
    worker.finish(first)
    clock.advance(DAY / 2)
    store.renew(worker.id)
    clock.advance(DAY * 3 / 4)
    assert store.prune(ALL).jobs == 0
    worker.finish(second)
    promote(store)
    clock.advance(DAY / 2)
    assert store.prune(ALL).jobs == 0, "its root has only just ended"
    clock.advance(DAY)
    assert store.prune(ALL).jobs == 3
    assert not any(exists(store, job) for job in ids.values())


def test_a_tree_with_a_task_whose_state_is_kept_stays(store: Store, clock: Clock) -> None:
    make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error=ERROR)
    promote(store)
    clock.advance(DAY * 2)
    assert store.prune({State.COMPLETED: DAY, State.CANCELLED: DAY}).jobs == 0


def test_an_ended_tree_goes_also_when_one_task_failed_because_of_another(
    store: Store, clock: Clock
) -> None:
    make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="a", task="work", parent="root"),
            NewJob(key="b", task="work", parent="root", after=[After(job="a", policy="fail")]),
        ],
    )
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error=ERROR)
    promote(store)
    assert store.statistics().by_status == {"failed": 3}
    clock.advance(DAY * 2)
    assert store.prune(ALL).jobs == 3


def test_what_others_still_come_after_is_kept(store: Store, clock: Clock) -> None:
    ids = make_jobs(
        store, [NewJob(key="a", task="work"), NewJob(key="b", task="work", after=["a"])]
    )
    store.stop(ids["a"], cascade=False)
    clock.advance(DAY * 2)
    assert store.prune(ALL).jobs == 0
    assert exists(store, ids["a"])


def test_everything_about_a_job_goes_with_it(
    store: Store, sql: psycopg.Connection, clock: Clock
) -> None:
    job = make_job(store, tags=["t"])
    worker = make_worker(store)
    claimed = worker.claim_one()
    report = Report(
        job=job,
        token=claimed.token,
        checkpoint=1,
        partials=[1],
        spent={"tokens": 1},
        logs=[LogLine("x")],
        artifacts=[Artifact("a", "file:///a", 1)],
    )
    store.report(worker.id, [report])
    worker.crash(claimed)
    worker.finish(worker.claim_one())
    clock.advance(DAY * 2)
    store.prune(ALL)
    tables = ["job", "payload", "outcome", "attempt", "partial", "log", "spent", "edge"]
    for table in tables:
        row = sql.execute(f"SELECT count(*) FROM tenure.{table}".encode()).fetchone()
        assert row == (0,), table
    [files] = store.discards()
    assert (files.job_id, files.urls) == (job, ("file:///a",))
    store.discarded(job, files.urls)
    for table in ("artifact", "discard"):
        assert sql.execute(f"SELECT count(*) FROM tenure.{table}".encode()).fetchone() == (0,)


def test_an_idempotency_key_holds_until_its_job_is_pruned(store: Store, clock: Clock) -> None:
    job = make_job_in(store, State.COMPLETED, idempotency="once")
    assert make_job(store, idempotency="once") == job
    clock.advance(DAY * 2)
    store.prune(ALL)
    assert make_job(store, idempotency="once") != job


def test_a_record_outlives_its_job(store: Store, clock: Clock) -> None:
    job = make_job(store)
    record = store.stop(job, reason="no longer wanted")
    clock.advance(DAY * 2)
    assert store.prune(ALL).jobs == 1
    kept = store.cancellation(record.cancellation_id)
    assert (kept.job_id, kept.reason, kept.status) == (job, "no longer wanted", "completed")
    assert [one.cancellation_id for one in store.cancellations()] == [record.cancellation_id]


def test_records_have_a_time_of_their_own(store: Store, clock: Clock) -> None:
    record = store.stop(make_job(store))
    clock.advance(DAY * 2)
    store.prune(ALL)
    assert store.prune_records(keep_records=DAY * 3).records == 0
    assert store.prune_records(keep_records=DAY).records == 1
    with pytest.raises(NotFound):
        store.cancellation(record.cancellation_id)


def test_the_audit_has_a_time_of_its_own(store: Store, clock: Clock) -> None:
    store.stop(make_job(store))
    clock.advance(DAY * 2)
    assert store.prune(ALL).jobs == 1
    assert len(store.audit_log()) == 1
    assert store.prune_records(keep_audit=DAY * 3).audit == 0
    assert store.prune_records(keep_audit=DAY).audit == 1


def test_a_batch_is_limited_and_says_that_there_is_more(store: Store, clock: Clock) -> None:
    for job in [make_job(store) for _ in range(3)]:
        store.stop(job)
    clock.advance(DAY * 2)
    first, second = store.prune(ALL, n=2), store.prune(ALL, n=2)
    assert (first.jobs, first.more) == (2, True)
    assert (second.jobs, second.more) == (1, False)
