"""Bulk operations: counted first, then one operation that survives its workers."""

from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import BulkIntent, Intent, Rung, State
from tenure.domain.principal import Principal, Role
from tenure.errors import IllegalTransition, InputRefused, NotAllowed, NotFound
from tenure.store.call import Call
from tenure.store.calls import policy_calls, queries, upkeep
from tenure.store.policy_results import Bulk
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.races.stage import Session
from tests.workers import eventually


def carry_out(store: Store, bulk: Bulk, n: int = 100) -> Bulk:
    while bulk.ended_at is None:
        moved = store.advance_bulk(n, bulk=bulk.id)
        assert moved is not None
        bulk = moved
    return bulk


def counts(bulk: Bulk) -> tuple[int, int, int]:
    return bulk.done, bulk.refused, bulk.failed


def test_a_preview_counts_by_status_and_stops_nothing(store: Store) -> None:
    running = make_job(store, queue="slow")
    worker = make_worker(store)
    worker.claim_one()
    queued, paused, over = (make_job(store, queue="slow") for _ in range(3))
    store.stop(paused, intent=Intent.PAUSE)
    store.stop(over)
    make_job(store)
    cancel = store.bulk_preview({"queue": "slow"})
    assert cancel.by_status == {"running": 1, "queued": 1, "paused": 1, "cancelled": 1}
    assert (cancel.total, cancel.reaches, cancel.untouched, cancel.others) == (4, 3, 1, 0)
    pause = store.bulk_preview({"queue": "slow"}, Intent.PAUSE)
    assert (pause.total, pause.reaches, pause.untouched) == (4, 2, 2)
    store.stop(running)
    assert store.bulk_preview({"queue": "slow"}).reaches == 2
    assert store.bulk_preview({"queue": "slow"}, force=True).reaches == 3
    assert store.show(queued).status == "queued"
    assert store.bulk_preview({"queue": "none"}).by_status == {}


def test_a_bulk_stop_stops_what_matches_and_nothing_else(store: Store) -> None:
    jobs = [make_job(store, queue="slow") for _ in range(5)]
    other = make_job(store)
    bulk = store.bulk_stop({"queue": "slow"}, reason="too many", by="ada", via="cli")
    assert (bulk.total, bulk.status, counts(bulk)) == (5, "running", (0, 0, 0))
    assert store.show(jobs[0]).status == "queued"
    half = store.advance_bulk(3)
    assert half is not None
    assert (half.status, counts(half)) == ("running", (3, 0, 0))
    assert [store.show(job).state for job in jobs].count(State.CANCELLED) == 3
    done = carry_out(store, half)
    assert (done.status, counts(done)) == ("completed", (5, 0, 0))
    assert store.bulk(bulk.id) == done
    assert store.bulks() == (done,)
    assert {store.show(job).state for job in jobs} == {State.CANCELLED}
    assert store.show(other).status == "queued"
    record = store.cancellation(job=jobs[0])
    assert (record.initiated_by, record.reason) == ("ada", "too many")
    [row] = [row for row in store.audit_log() if row.verb == "bulk_stop"]
    assert (row.actor, row.via, row.subject, row.after["total"]) == ("ada", "cli", "bulk", 5)
    assert store.advance_bulk() is None


def test_what_comes_later_is_not_touched(store: Store) -> None:
    make_job(store)
    bulk = store.bulk_stop({})
    later = make_job(store)
    assert counts(carry_out(store, bulk)) == (1, 0, 0)
    assert store.show(later).status == "queued"


@pytest.mark.parametrize("n", [1, 100])
def test_what_is_above_takes_along_what_is_below(store: Store, n: int) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="top"),
            *(NewJob(task="work", parent="top", key=key) for key in ("a", "b")),
        ],
    )
    bulk = carry_out(store, store.bulk_stop({}), n)
    assert (bulk.total, counts(bulk)) == (3, (1, 0, 0))
    assert {store.show(job).state for job in ids.values()} == {State.CANCELLED}
    assert len(store.cancellations()) == 1


def test_the_stops_have_the_options_of_the_bulk_stop(store: Store) -> None:
    job = make_job(store)
    make_worker(store).claim_one()
    carry_out(store, store.bulk_stop({}, strategy="patient", preserve=False, cascade=False))
    record = store.cancellation(job=job)
    assert (record.last_rung, record.cascade, record.force) == (Rung.INTERRUPTED, False, False)
    again = carry_out(store, store.bulk_stop({}))
    assert (again.total, counts(again)) == (0, (0, 0, 0))
    harder = carry_out(store, store.bulk_stop({}, strategy="immediate"))
    assert counts(harder) == (1, 0, 0)
    assert store.cancellation(job=job).force


def test_many_jobs_are_paused(store: Store) -> None:
    jobs = [make_job(store) for _ in range(2)]
    store.stop(jobs[0], intent=Intent.PAUSE)
    assert counts(carry_out(store, store.bulk_stop({}, Intent.PAUSE))) == (1, 0, 0)
    assert {store.show(job).state for job in jobs} == {State.PAUSED}


def test_a_job_that_cannot_be_stopped_is_counted_and_the_others_are_stopped(
    store: Store, sql: psycopg.Connection
) -> None:
    bad, good = make_job(store, options={"cancel_pauses": True}), make_job(store)
    bulk = carry_out(store, store.bulk_stop({}, rollback=True))
    assert (bulk.status, counts(bulk)) == ("partial", (1, 0, 1))
    assert (bulk.error or "").startswith(f"job {bad}: a plain cancel of job {bad} pauses it")
    assert store.show(good).state is State.CANCELLED


def test_a_bulk_stop_that_makes_no_sense_any_more_fails(
    store: Store, sql: psycopg.Connection
) -> None:
    bulk = store.bulk_stop({})
    sql.execute('UPDATE tenure.bulk SET filter = \'{"colour": "red"}\'')
    ended = carry_out(store, bulk)
    assert ended.status == "failed"
    assert "cannot be filtered by 'colour'" in (ended.error or "")


def test_what_is_no_bulk_stop_is_refused(store: Store, sql: psycopg.Connection) -> None:
    refused: list[tuple[Any, str]] = [
        (lambda: store.bulk_stop({"colour": "red"}), "cannot be filtered"),
        (lambda: store.bulk_stop({"state": "asleep"}), "they can be pending, running"),
        (lambda: store.bulk_stop({}, reason=""), "the reason is empty"),
        (lambda: store.bulk_stop({}, strategy="mild"), "there is no strategy 'mild'"),
        (lambda: store.bulk_stop({}, Intent.PAUSE, rollback=True), "a pause is not rolled back"),
        (lambda: store.bulk_stop({}, force=True, last_rung=Rung.ASKED), "a forced one kills"),
        (lambda: store.advance_bulk(0), "a batch of 0 jobs is not possible"),
    ]
    for ask, why in refused:
        with pytest.raises(InputRefused, match=why):
            ask()
    with pytest.raises(NotFound, match="there is no bulk operation 7"):
        store.bulk(7)
    for verb, why in (
        ("bulk_stop", "a stop cancels or pauses; 'end' is neither"),
        ("bulk_preview", "many jobs are cancelled, paused, resumed or rerun"),
    ):
        with pytest.raises(psycopg.Error, match=why):
            sql.execute(f"SELECT tenure.{verb}('{{}}', 'end')".encode())
    assert store.bulks() == ()


def test_an_operator_reaches_its_own_jobs(store: Store) -> None:
    mine, yours = make_job(store, owner="ann"), make_job(store, owner="bob")

    def by_ann(call: Call[Any], role: Role = Role.OPERATOR) -> Any:
        return store.send(call.asked_by(Principal("ann", role)))

    preview = by_ann(queries.bulk_preview({}))
    assert (preview.reaches, preview.others) == (1, 1)
    bulk = by_ann(policy_calls.bulk_stop({}))
    # It stays ann's, no matter who continues it.
    assert counts(carry_out(store, bulk)) == (1, 1, 0)
    assert store.show(mine).state is State.CANCELLED
    assert store.show(yours).status == "queued"
    with pytest.raises(NotAllowed, match="ann is a viewer and may not bulk stop"):
        by_ann(policy_calls.bulk_stop({}), Role.VIEWER)
    assert counts(carry_out(store, by_ann(policy_calls.bulk_stop({}), Role.ADMIN))) == (1, 0, 0)


def test_a_bulk_resume_continues_what_is_paused_or_failed_and_nothing_else(store: Store) -> None:
    failed = make_job_in(store, State.FAILED, queue="slow")
    over = make_job_in(store, State.COMPLETED, queue="slow")
    root = make_job(store, task=None, queue="other", key="root")
    child = make_job(store, queue="slow", parent=root)
    elsewhere = make_job(store, queue="fast")
    for job in (root, elsewhere):
        store.stop(job, intent=Intent.PAUSE)
    preview = store.bulk_preview({"queue": "slow"}, BulkIntent.RESUME)
    assert (preview.reaches, preview.running, preview.untouched) == (2, 0, 1)
    bulk = store.bulk_resume({"queue": "slow"}, "new site", by="ann")
    assert (bulk.intent, bulk.total, bulk.status) == ("resume", 2, "running")
    with pytest.raises(IllegalTransition):
        store.resume(child)
    bulk = carry_out(store, bulk, n=1)
    assert (bulk.status, counts(bulk)) == ("partial", (1, 0, 1)), "its parent is paused"
    assert store.show(failed).state is State.PENDING
    assert store.show(over).state is State.COMPLETED
    bulk = carry_out(store, store.bulk_resume({"root": root}, by="ann"))
    assert (bulk.status, counts(bulk)) == ("completed", (1, 0, 0)), "with it what is below"
    assert store.show(child).state is State.PENDING
    assert store.show(elsewhere).state is State.PAUSED
    verbs = [row.verb for row in store.audit_log() if row.actor == "ann"]
    assert sorted(verbs) == ["bulk_resume", "bulk_resume", "resume", "resume"]


def test_a_bulk_rerun_enqueues_each_ended_job_once_whoever_dies_in_the_middle(
    store: Store, connect: Connect
) -> None:
    old = [make_job_in(store, State.FAILED, queue="slow", owner="bob") for _ in range(3)]
    last = make_job(store, queue="slow")
    bulk = store.bulk_rerun({"queue": "slow"}, by="ann")
    assert bulk.total == 3
    dying = Session(connect())
    dying(upkeep.advance_bulk(2))
    dying.connection.close()
    eventually(lambda: store.advance_bulk(1), "the server has noticed that it is dead")
    bulk = carry_out(store, bulk, n=2)
    assert (bulk.status, counts(bulk)) == ("completed", (3, 0, 0))
    new = [job for job in store.list_jobs({"queue": "slow"}) if job.id > last]
    assert [(job.owner, job.task) for job in new] == [("bob", store.show(old[0]).task)] * 3
    assert [row.actor for row in store.audit_log() if row.verb == "rerun"] == ["ann"] * 3


@pytest.mark.parametrize("begin", [policy_calls.bulk_resume, policy_calls.bulk_rerun])
def test_an_operator_resumes_and_reruns_its_own_jobs(store: Store, begin: Any) -> None:
    mine, yours = (make_job_in(store, State.FAILED, owner=owner) for owner in ("ann", "bob"))
    bulk = store.send(begin({}).asked_by(Principal("ann", Role.OPERATOR)))
    assert counts(carry_out(store, bulk)) == (1, 1, 0)
    touched = {row.name for row in store.audit_log() if row.verb in ("resume", "rerun")}
    assert touched == {str(mine)}
    assert store.show(yours).state is State.FAILED
    with pytest.raises(NotAllowed, match="ann is a viewer and may not bulk re"):
        store.send(begin({}).asked_by(Principal("ann", Role.VIEWER)))


# Two at once.


def test_two_who_carry_on_the_same_do_not_wait_and_stop_nothing_twice(
    store: Store, connect: Connect
) -> None:
    jobs = [make_job(store) for _ in range(4)]
    store.bulk_stop({})
    first, second = Session(connect()), Session(connect())
    moved = first(upkeep.advance_bulk(2))
    assert moved is not None
    assert moved.done == 2
    assert second(upkeep.advance_bulk(2)) is None
    first.commit()
    moved = second(upkeep.advance_bulk(2))
    assert moved is not None
    assert moved.done == 4
    second.commit()
    done = store.advance_bulk()
    assert done is not None
    assert (done.status, done.done) == ("completed", 4)
    assert len(store.cancellations(100)) == len(jobs)


def test_a_batch_cut_off_midway_is_undone_and_another_caller_continues(
    store: Store, connect: Connect
) -> None:
    jobs = [make_job(store) for _ in range(4)]
    bulk = store.bulk_stop({})
    store.advance_bulk(1)
    dying = Session(connect())
    dying(upkeep.advance_bulk(2))
    dying.connection.close()
    assert store.bulk(bulk.id).done == 1
    eventually(lambda: store.advance_bulk(1), "the server has noticed that it is dead")
    assert carry_out(store, bulk, n=2).done == 4
    assert {store.show(job).state for job in jobs} == {State.CANCELLED}
    assert len(store.cancellations(100)) == len(jobs)


def test_two_bulk_stops_are_carried_on_by_two(store: Store, connect: Connect) -> None:
    for queue in ("a", "b"):
        make_job(store, queue=queue)
        store.bulk_stop({"queue": queue})
    first, second = Session(connect()), Session(connect())
    moved = [session(upkeep.advance_bulk(10)) for session in (first, second)]
    assert [it.filter["queue"] for it in moved if it is not None] == ["a", "b"]
    first.commit()
    second.commit()
    assert {bulk.status for bulk in store.bulks()} == {"completed"}


def test_a_tree_that_somebody_else_locks_is_where_the_next_batch_begins(
    store: Store, connect: Connect
) -> None:
    """A dependent in an older tree would be locked out of order: it is not waited for."""
    older = make_job(store, task=None)
    first = make_job(store, queue="slow")
    dependent = make_job(store, parent=older, after=[first])
    last = make_job(store, queue="slow")
    promote(store)
    bulk = store.bulk_stop({"queue": "slow"})
    other = connect()
    other.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (older,))
    moved = store.advance_bulk()
    assert moved is not None
    assert (moved.status, counts(moved)) == ("running", (0, 0, 0))
    other.rollback()
    assert counts(carry_out(store, bulk)) == (2, 0, 0)
    states = {store.show(job).state for job in (first, dependent, last)}
    assert states == {State.CANCELLED}
