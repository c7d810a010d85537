"""stop with a rollback: a job that undoes, enqueued in the same transaction."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import Job, NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import IllegalTransition, InputRefused, NotFound
from tenure.store.calls.control_calls import stop
from tenure.store.drivers import send_on
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import Worker, end_as_stopped, make_job, make_jobs, make_worker, promote


def rollbacks(store: Store) -> tuple[Job, ...]:
    return tuple(store.show(job.id) for job in store.list_jobs({"task": "tenure.rollback"}))


def test_it_runs_when_the_cancelled_job_has_ended(store: Store) -> None:
    make_job(store, queue="far", owner="ann", priority=3)
    worker = make_worker(store)
    job = worker.claim_one()

    record = store.stop(job.id, rollback=True, by="bob")

    assert record.rollback
    (undo,) = rollbacks(store)
    assert undo.args == {"cancellation": record.cancellation_id}
    assert (undo.queue, undo.owner, undo.priority, undo.parent_id) == ("far", "ann", 3, None)
    promote(store)
    assert worker.claim() == ()
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["rollback"] is True

    end_as_stopped(worker, job)
    promote(store)
    assert worker.claim_one().task == "tenure.rollback"
    assert store.cancellation(record.cancellation_id).rollback


def test_it_runs_whatever_the_job_became(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(job.id, rollback=True)
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}
    promote(store)
    assert worker.claim_one().task == "tenure.rollback"


def test_what_has_not_started_is_undone_at_once(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="a", task="work", parent="root"),
            NewJob(key="b", task="work", parent="root", after=["a"]),
        ],
    )
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    record = store.stop(ids["root"], rollback=True)
    promote(store)
    assert worker.claim_one().args == {"cancellation": record.cancellation_id}
    assert record.tasks_completed == (ids["a"],), "this is what there is to undo"


def test_a_plain_stop_enqueues_nothing(store: Store) -> None:
    record = store.stop(make_job(store))
    assert not record.rollback
    assert rollbacks(store) == ()


def test_asking_again_adds_it_once(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    assert not store.stop(job.id).rollback
    for _ in range(2):
        assert store.stop(job.id, rollback=True).rollback
    assert store.stop(job.id).rollback
    assert len(rollbacks(store)) == 1
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["rollback"] is True
    assert [row.verb for row in store.audit_log("job", str(job.id))] == ["rollback", "cancel"]


def test_a_pause_is_not_rolled_back(store: Store) -> None:
    job = make_job(store)
    with pytest.raises(InputRefused, match="a pause is not rolled back, because the job continues"):
        store.stop(job, intent=Intent.PAUSE, rollback=True)
    assert store.cancellations() == ()
    assert rollbacks(store) == ()


def test_no_stop_no_rollback(store: Store, connect: Connect) -> None:
    job, caller = make_job(store), connect()
    send_on(caller, stop(job, rollback=True))
    caller.rollback()
    assert rollbacks(store) == ()
    assert store.show(job).state is State.PENDING


def test_how_long_to_ask_is_told_to_the_worker(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    record = store.stop(job.id, ask_for=timedelta(seconds=5))
    assert record.ask_for == 5
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["ask_for"] == 5


def test_a_negative_time_to_ask_is_refused(store: Store, sql: psycopg.Connection) -> None:
    with pytest.raises(InputRefused, match="cannot be negative"):
        store.stop(make_job(store), ask_for=timedelta(seconds=-1))


# Of named tasks


def whole_job(store: Store) -> tuple[dict[str, int], Worker]:
    """A job of three tasks, of which two are completed: b after a."""
    ids = dict(
        make_jobs(
            store,
            [
                NewJob(key="root", owner="ann"),
                *(NewJob(key=key, task="work", parent="root", args={"n": key}) for key in "abc"),
            ],
        )
    )
    worker = make_worker(store)
    for _ in "ab":
        worker.finish(worker.claim_one(), value="done")
    promote(store)
    return ids, worker


def undone(store: Store, worker: Worker) -> tuple[Claimed, list[Any]]:
    """The rollback that is next, and the arguments of what it is to undo."""
    promote(store)
    job = worker.claim_one()
    assert job.task == "tenure.rollback"
    return job, [task.args["n"] for task in store.completed(worker.id, job.id, job.token)]


def test_all_that_was_completed_is_undone_newest_first(store: Store) -> None:
    ids, worker = whole_job(store)
    record = store.stop(ids["root"], rollback=True)
    job, args = undone(store, worker)
    assert args == ["b", "a"]
    assert record.rollback_jobs == (job.id,)


def test_only_what_is_named_is_undone(store: Store) -> None:
    ids, worker = whole_job(store)
    record = store.stop(ids["root"], rollback_tasks=[ids["a"], ids["c"]])
    assert record.rollback
    assert record.rollback_tasks == (ids["a"], ids["c"])
    _, args = undone(store, worker)
    assert args == ["a"], "c had not been completed"


def test_what_is_no_part_of_the_record_cannot_be_named(store: Store) -> None:
    ids, _ = whole_job(store)
    other = make_job(store)
    with pytest.raises(InputRefused, match=f"job {other} is not part of cancel-000001"):
        store.stop(ids["root"], rollback_tasks=[ids["a"], other])
    assert store.cancellations() == ()
    with pytest.raises(InputRefused, match="leave the names out to roll back all of them"):
        store.stop(ids["root"], rollback_tasks=[])
    with pytest.raises(InputRefused, match="or nothing is rolled back"):
        store.stop(ids["root"], rollback=False, rollback_tasks=[ids["a"]])
    record = store.stop(ids["root"])
    with pytest.raises(InputRefused, match="is not part of"):
        store.rollback(record.cancellation_id, [other])
    with pytest.raises(InputRefused, match="no task is named"):
        store.rollback(record.cancellation_id, [])
    assert rollbacks(store) == ()


def test_it_is_asked_for_also_when_the_record_has_ended(store: Store) -> None:
    ids, worker = whole_job(store)
    record = store.stop(ids["root"])
    promote(store)
    assert store.cancellation(record.cancellation_id).completed_at is not None
    asked = store.rollback(record.cancellation_id, reason="it was wrong", by="ann")
    assert store.rollback(record.cancellation_id) == asked
    (job,) = rollbacks(store)
    assert (job.id, job.owner) == (asked["job"], "ann")
    assert undone(store, worker)[1] == ["b", "a"]
    row = store.audit_log("job", str(ids["root"]))[-2]
    assert (row.verb, row.actor, row.reason) == ("rollback", "ann", "it was wrong")


def test_the_same_tasks_are_undone_by_one_job_and_others_one_after_the_other(store: Store) -> None:
    ids, worker = whole_job(store)
    name = store.stop(ids["root"]).cancellation_id
    first = store.rollback(name, [ids["a"], ids["b"]])
    assert store.rollback(name, [ids["b"], ids["a"], ids["a"]]) == first
    second = store.rollback(name, [ids["a"]])
    assert second != first
    job, _ = undone(store, worker)
    assert job.id == first["job"]
    promote(store)
    assert worker.claim() == (), "the second waits, or both would undo the same task"
    worker.finish(job)
    assert undone(store, worker)[0].id == second["job"]


def test_asking_again_adds_names_and_all_is_all(store: Store) -> None:
    make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    task = worker.claim_one()
    root = store.show(task.id).root_id
    store.stop(root, rollback_tasks=[root])
    assert store.stop(root, rollback_tasks=[task.id]).rollback_tasks == (root, task.id)
    assert len(rollbacks(store)) == 2
    assert store.stop(root, rollback=True).rollback_tasks is None
    assert store.stop(root, rollback_tasks=[task.id]).rollback_tasks is None
    assert len(rollbacks(store)) == 3


def test_a_pause_and_what_is_gone_cannot_be_undone(store: Store, sql: psycopg.Connection) -> None:
    paused = store.stop(make_job(store), intent=Intent.PAUSE)
    with pytest.raises(IllegalTransition, match="a pause is not rolled back"):
        store.rollback(paused.cancellation_id)
    gone = store.stop(make_job(store))
    sql.execute("UPDATE tenure.job SET ended_at = ended_at - interval '9 days' WHERE id = 2")
    assert store.prune({State.CANCELLED: timedelta(days=1)}).jobs == 1
    with pytest.raises(IllegalTransition, match="job 2 is gone, and with it what could be undone"):
        store.rollback(gone.cancellation_id)
    with pytest.raises(NotFound, match="there is no cancellation cancel-00ffff"):
        store.rollback("cancel-00ffff")


def test_only_whoever_runs_the_rollback_is_told_what_it_undoes(store: Store) -> None:
    """It is told real arguments, secrets too."""
    make_job(store, args={"password": "hunter2"}, options={"secret": ["password"]})
    worker = make_worker(store)
    target = worker.claim_one()
    name = store.stop(target.id, rollback=True).cancellation_id
    worker.finish(target)
    promote(store)
    job = worker.claim_one()
    (told,) = store.completed(worker.id, job.id, job.token)
    assert (told.id, told.args, told.secret) == (target.id, {"password": "hunter2"}, ("password",))
    assert store.cancellation(name).job_became is State.COMPLETED
    forged = make_job(store, task="tenure.rollback", args={"cancellation": name})
    other = worker.claim_one()
    assert other.id == forged
    for asks in (
        (make_worker(store).id, job.id, job.token),
        (worker.id, job.id, job.token + 1),
        (worker.id, other.id, other.token),
        (worker.id, target.id, target.token),
    ):
        with pytest.raises(IllegalTransition, match="is not a rollback that this worker runs"):
            store.completed(*asks)


def test_a_rollback_cannot_be_kept_away_by_a_job_that_looks_like_it(store: Store) -> None:
    """By a key, when rollbacks had one, or by being there first."""
    target = make_job(store)
    args = {"cancellation": "cancel-000001"}
    forged = make_job(
        store, task="tenure.rollback", args=args, idempotency="tenure.rollback cancel-000001"
    )
    record = store.cancellation(store.stop(target, rollback=True).cancellation_id)
    (undoer,) = record.rollback_jobs
    assert record.cancellation_id == args["cancellation"]
    assert undoer != forged
    assert store.rollback(record.cancellation_id) == {"job": undoer}
