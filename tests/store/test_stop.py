"""stop: cancel or pause one job, or a whole tree."""

from datetime import timedelta
from itertools import product
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tenure.domain.job import After, NewJob
from tenure.domain.lifecycle import Intent, Reason, Rung, State, Status
from tenure.errors import IllegalTransition, InputRefused, JobNotFound, NotFound
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import (
    Worker,
    end_as_stopped,
    make_job,
    make_job_in,
    make_jobs,
    make_worker,
    promote,
)


def start(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    worker = make_worker(store)
    return worker, worker.claim_one()


def state_of(store: Store, job: int) -> State:
    return store.show(job).state


def records(sql: psycopg.Connection) -> int:
    row = sql.execute("SELECT count(*) FROM tenure.cancellation").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("intent", "state"), [(Intent.CANCEL, State.CANCELLED), (Intent.PAUSE, State.PAUSED)]
)
def test_what_has_not_started_stops_at_once(store: Store, intent: Intent, state: State) -> None:
    job = make_job(store)
    record = store.stop(job, intent=intent)
    assert record.status == "completed"
    assert state_of(store, job) is state
    assert make_worker(store).claim(10) == ()


@pytest.mark.parametrize(
    ("intent", "status", "state"),
    [
        (Intent.CANCEL, Status.CANCELLING, State.CANCELLED),
        (Intent.PAUSE, Status.PAUSING, State.PAUSED),
    ],
)
def test_what_runs_is_stopped_only_when_its_code_is_gone(
    store: Store, intent: Intent, status: Status, state: State
) -> None:
    worker, job = start(store)
    store.stop(job.id, intent=intent)
    promote(store)
    seen = store.show(job.id)
    assert (seen.state, seen.status, seen.cancel_requested) == (State.RUNNING, status, True)
    assert end_as_stopped(worker, job).accepted == {job.id: state}
    seen = store.show(job.id)
    assert (seen.state, seen.cancel_requested) == (state, False)
    assert make_worker(store).claim(10) == ()


def test_a_cancelled_job_says_who_when_and_why(store: Store) -> None:
    job = make_job(store)
    record = store.stop(job, reason="customer left", by="user:ann")
    seen = store.show(job)
    assert (seen.cancelled_by, seen.cancellation_reason) == ("user:ann", "customer left")
    assert seen.cancellation_id == record.cancellation_id
    assert seen.cancelled_at is not None
    assert seen.cancelled_at == seen.completed_at


@pytest.mark.parametrize(
    ("state", "intent"),
    [
        *product([State.COMPLETED, State.FAILED], Intent),
        (State.CANCELLED, Intent.PAUSE),
        (State.PAUSED, Intent.PAUSE),
    ],
)
def test_what_cannot_be_stopped_refuses_and_makes_no_record(
    store: Store, sql: psycopg.Connection, state: State, intent: Intent
) -> None:
    job = make_job_in(store, state)
    before = records(sql)
    with pytest.raises(IllegalTransition, match=f"^cannot {intent} a job that is {state}$"):
        store.stop(job, intent=intent)
    assert records(sql) == before
    assert state_of(store, job) is state


def test_what_is_cancelled_answers_with_its_record(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store)
    first = store.stop(job, reason="not needed")
    again = store.stop(job, reason="not needed at all", force=True)
    assert (again.cancellation_id, again.reason) == (first.cancellation_id, "not needed")
    assert (first.again, again.again) == (False, True)
    assert records(sql) == 1


def test_a_record_is_named_by_what_was_asked(store: Store) -> None:
    paused, cancelled = make_job(store), make_job(store)
    names = [
        store.stop(paused, intent=Intent.PAUSE).cancellation_id,
        store.stop(cancelled).cancellation_id,
    ]
    assert names == ["pause-000001", "cancel-000002"]
    assert [store.cancellation(name).cancellation_id for name in names] == names
    with pytest.raises(NotFound, match=r"^there is no cancellation cancel-000001$"):
        store.cancellation("cancel-000001")


def test_a_job_that_does_not_exist_cannot_be_stopped(store: Store) -> None:
    with pytest.raises(JobNotFound, match=r"^there is no job 4711$"):
        store.stop(4711)


def test_the_reason_has_a_default(store: Store) -> None:
    assert store.stop(make_job(store)).reason == "User requested cancellation"
    paused = store.stop(make_job(store), intent=Intent.PAUSE)
    assert paused.reason == "Job was interrupted by user"


def test_a_stop_that_contradicts_itself_is_refused(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store)
    wrong: list[dict[str, Any]] = [
        {"reason": ""},
        {"grace": timedelta(seconds=-1)},
        {"last_rung": Rung.EXPIRED},
        {"force": True, "last_rung": Rung.ASKED},
    ]
    for options in wrong:
        with pytest.raises(InputRefused):
            store.stop(job, **options)
    assert state_of(store, job) is State.PENDING
    assert records(sql) == 0


def test_asking_again_answers_with_the_same_record(store: Store, sql: psycopg.Connection) -> None:
    _, job = start(store)
    first = store.stop(job.id, reason="first")
    second = store.stop(job.id, reason="second")
    assert (first.again, second.again) == (False, True)
    assert second.cancellation_id == first.cancellation_id
    assert second.reason == "first"
    assert records(sql) == 1


def test_force_escalates_a_graceful_stop(store: Store) -> None:
    worker, job = start(store)
    first = store.stop(job.id, last_rung=Rung.TERMINATED)
    second = store.stop(job.id, force=True)
    assert second.cancellation_id == first.cancellation_id
    assert (first.force, second.force) == (False, True)
    assert second.last_rung is Rung.KILLED
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["force"] is True
    assert signal.orders["last_rung"] == "killed"
    assert store.stop(job.id).force is True


def test_less_grace_escalates_and_more_does_not(store: Store) -> None:
    worker, job = start(store)
    store.stop(job.id, grace=timedelta(seconds=60))
    assert store.stop(job.id, grace=timedelta(seconds=90)).grace == 60
    assert store.stop(job.id, grace=timedelta(seconds=5)).grace == 5
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["grace"] == 5


def test_the_signal_arrives_also_when_the_worker_is_full_and_draining(store: Store) -> None:
    worker, job = start(store)
    store.drain(worker.id)
    store.stop(job.id)
    renewal = store.renew(worker.id)
    assert renewal.draining
    assert [signal.job_id for signal in renewal.signals] == [job.id]


def test_a_paused_job_can_be_cancelled(store: Store) -> None:
    job = make_job_in(store, State.PAUSED)
    assert store.stop(job).status == "completed"
    assert state_of(store, job) is State.CANCELLED


def test_a_pause_leaves_dependents_waiting(store: Store) -> None:
    ids = make_jobs(
        store, [NewJob(key="a", task="work"), NewJob(key="b", task="work", after=["a"])]
    )
    store.stop(ids["a"], intent=Intent.PAUSE)
    promote(store)
    assert store.show(ids["b"]).waiting is Reason.DEPENDENCIES


def test_the_signal_comes_with_every_renewal_until_the_attempt_ends(store: Store) -> None:
    worker, job = start(store)
    record = store.stop(
        job.id, reason="too slow", grace=timedelta(seconds=7), last_rung=Rung.TERMINATED, by="ann"
    )
    bystander = make_worker(store)
    for _ in range(2):
        (signal,) = store.renew(worker.id).signals
        assert (signal.job_id, signal.token, signal.tenant) == (job.id, job.token, "default")
        assert signal.orders == {
            "cancellation_id": record.cancellation_id,
            "intent": "cancel",
            "reason": "too slow",
            "by": "ann",
            "force": False,
            "grace": 7.0,
            "ask_for": None,
            "last_rung": "terminated",
            "rollback": False,
            "preserve": None,
        }
    assert store.renew(bystander.id).signals == ()
    end_as_stopped(worker, job)
    assert store.renew(worker.id).signals == ()


def test_a_job_that_is_pausing_can_be_cancelled(store: Store) -> None:
    worker, job = start(store)
    pausing = store.stop(job.id, intent=Intent.PAUSE)
    cancelling = store.stop(job.id)
    assert cancelling.cancellation_id != pausing.cancellation_id
    assert store.show(job.id).status is Status.CANCELLING
    assert end_as_stopped(worker, job).accepted == {job.id: State.CANCELLED}


def test_a_job_that_is_cancelling_cannot_be_paused(store: Store) -> None:
    worker, job = start(store)
    store.stop(job.id)
    with pytest.raises(IllegalTransition, match=r"^cannot pause a job that is cancelling$"):
        store.stop(job.id, intent=Intent.PAUSE)
    assert end_as_stopped(worker, job).accepted == {job.id: State.CANCELLED}


def test_a_cancel_under_way_is_not_lost_when_the_parent_is_paused(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(job.id)
    store.stop(ids["root"], intent=Intent.PAUSE)
    assert end_as_stopped(worker, job).accepted == {job.id: State.CANCELLED}


def test_hurrying_a_stop_does_not_soften_a_forced_one_below_it(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    worker.claim_one()
    store.stop(ids["a"], force=True)
    store.stop(ids["root"], grace=timedelta(seconds=60))
    store.stop(ids["root"], grace=timedelta(seconds=5))
    assert any(signal.orders["force"] for signal in store.renew(worker.id).signals)


def test_a_stop_frees_the_target_for_the_next_in_line(store: Store) -> None:
    first, second = (make_job(store, target="site:x") for _ in range(2))
    promote(store)
    store.stop(first)
    promote(store)
    assert make_worker(store).claim_one().id == second


def test_a_paused_job_keeps_its_target_closed(store: Store) -> None:
    first, _ = (make_job(store, target="site:x") for _ in range(2))
    promote(store)
    store.stop(first, intent=Intent.PAUSE)
    promote(store)
    assert make_worker(store).claim(10) == ()


def test_cascade_takes_everything_that_comes_after(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="a", task="work"),
            NewJob(key="b", task="work", after=["a"]),
            NewJob(key="c", task="work", after=["b"]),
            NewJob(key="other", task="work"),
        ],
    )
    record = store.stop(ids["a"])
    assert record.tasks_cancelled == (ids["b"], ids["c"])
    assert [state_of(store, ids[key]) for key in "abc"] == [State.CANCELLED] * 3
    assert state_of(store, ids["other"]) is State.PENDING


def test_without_cascade_dependents_wait_and_recovery_leaves_them_alone(
    store: Store, sql: psycopg.Connection
) -> None:
    ids = make_jobs(
        store, [NewJob(key="a", task="work"), NewJob(key="b", task="work", after=["a"])]
    )
    record = store.stop(ids["a"], cascade=False)
    promote(store)
    sql.execute("UPDATE tenure.job SET run_at = run_at - interval '1 day'")
    assert store.recover(pending_after=timedelta(seconds=1)).stale == ()
    assert (record.job_became, record.tasks_cancelled) == (State.CANCELLED, ())
    waiting = store.show(ids["b"])
    assert (waiting.state, waiting.waiting) == (State.PENDING, Reason.DEPENDENCIES)
    (reason, *_) = store.explain(ids["b"]).reasons
    assert (reason.reason, reason.about) == ("dependency", str(ids["a"]))
    assert "cancelled" in reason.sentence


def test_without_cascade_the_policy_of_the_edge_decides(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="a", task="work"),
            NewJob(key="fails", task="work", after=[After(job="a", policy="fail")]),
            NewJob(key="runs", task="work", after=[After(job="a", policy="run")]),
        ],
    )
    store.stop(ids["a"], cascade=False)
    promote(store)
    assert state_of(store, ids["fails"]) is State.FAILED
    assert make_worker(store).claim_one().id == ids["runs"]


@pytest.mark.parametrize(
    "below",
    [
        [{"task": "work", "parent": "root"}],
        [{"task": "work", "parent": "root", "key": "a"}, {"task": "work", "parent": "a"}],
        [{"parent": "root", "key": "a"}, {"task": "work", "parent": "a"}],
    ],
    ids=["a child", "a grandchild", "a group"],
)
def test_what_was_in_flight_below_a_stopped_parent_never_runs(
    store: Store, connect: Connect, below: list[dict[str, Any]]
) -> None:
    root = make_job(store, task=None)
    drafts = [{**job, "parent": root if job["parent"] == "root" else "a"} for job in below]
    enqueuer = connect()
    enqueuer.execute("SELECT tenure.enqueue(%s)", (Jsonb(drafts),))
    store.stop(root)
    enqueuer.commit()
    promote(store)
    assert make_worker(store).claim(10) == ()
    assert {job.state for job in store.list_jobs({"root": root})} == {State.CANCELLED}


def test_children_of_any_depth_go_with_their_parent(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="group", parent="root"),
            NewJob(key="leaf", task="work", parent="group"),
            NewJob(key="sibling", task="work", parent="root"),
        ],
    )
    store.stop(ids["group"], cascade=False)
    assert [state_of(store, ids[key]) for key in ("group", "leaf")] == [State.CANCELLED] * 2
    assert state_of(store, ids["sibling"]) is State.PENDING
    store.stop(ids["root"], cascade=False)
    assert [state_of(store, ids[key]) for key in ("root", "sibling")] == [State.CANCELLED] * 2


def test_what_comes_after_a_completed_task_is_not_cancelled_with_the_rest(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="a", task="work", parent="root"),
            NewJob(key="later", task="work", after=["a"]),
        ],
    )
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    store.stop(ids["root"])
    promote(store)
    assert worker.claim_one().id == ids["later"]


def test_a_job_without_code_is_cancelling_until_nothing_below_it_runs(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="group", parent="root"),
            NewJob(key="a", task="work", parent="group"),
            NewJob(key="b", task="work", parent="group"),
        ],
    )
    worker = make_worker(store)
    jobs = worker.claim(2)
    store.stop(ids["root"])
    for job in jobs:
        promote(store)
        for key in ("root", "group"):
            assert store.show(ids[key]).status is Status.CANCELLING
        end_as_stopped(worker, job)
    promote(store)
    assert [state_of(store, job) for job in ids.values()] == [State.CANCELLED] * 4


@pytest.mark.parametrize("parent_ran", [True, False])
def test_a_job_with_code_is_not_cancelled_while_its_child_still_runs(
    store: Store, parent_ran: bool
) -> None:
    worker = make_worker(store)
    parent = make_job(store, queue="above")
    running = worker.claim(queues=["above"]) if parent_ran else ()
    make_job(store, parent=parent)
    promote(store)
    child = worker.claim_one(queues=["default"])
    store.stop(parent)
    for job in running:
        end_as_stopped(worker, job)
    promote(store)
    assert store.show(child.id).state is State.RUNNING
    assert store.show(parent).state is not State.CANCELLED
    end_as_stopped(worker, child)
    promote(store)
    assert store.show(parent).state is State.CANCELLED


def test_a_job_is_cancelling_while_a_grandchild_below_a_completed_child_runs(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    child = worker.claim_one()
    make_job(store, parent=child.id)
    promote(store)
    grandchild = worker.claim_one()
    worker.finish(child)
    store.stop(ids["root"])
    promote(store)
    assert store.show(grandchild.id).state is State.RUNNING
    assert store.show(ids["root"]).status is Status.CANCELLING
    end_as_stopped(worker, grandchild)
    promote(store)
    assert store.show(ids["root"]).state is State.CANCELLED


@pytest.mark.parametrize("intent", list(Intent))
def test_a_record_is_closed_when_another_stop_ends_the_last_of_its_jobs(
    store: Store, connect: Connect, sql: psycopg.Connection, intent: Intent
) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="group", parent="root"),
            NewJob(key="a", task="work", parent="group"),
        ],
    )
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(ids["group"], intent=intent)
    end_as_stopped(worker, job)
    busy = connect()
    busy.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (ids["group"],))
    store.promote()  # its record is looked at, and the group is not over yet
    busy.rollback()
    store.stop(ids["root"])
    promote(store)
    assert [state_of(store, ids[key]) for key in ("root", "group")] == [State.CANCELLED] * 2
    rows = sql.execute("SELECT status FROM tenure.cancellation ORDER BY id").fetchall()
    assert rows == [("completed",), ("completed",)]


@pytest.mark.parametrize("intent", list(Intent))
def test_nothing_is_enqueued_below_a_stopped_parent(store: Store, intent: Intent) -> None:
    worker, job = start(store)
    store.stop(job.id, intent=intent)
    with pytest.raises(IllegalTransition, match=f"below job {job.id}, which is being stopped"):
        make_job(store, parent=job.id)
    end_as_stopped(worker, job)
    with pytest.raises(IllegalTransition, match=f"below job {job.id}, which is (cancell|paus)ed"):
        make_job(store, parent=job.id)


def test_ten_thousand_pending_tasks_stop_in_one_transaction(store: Store, connect: Connect) -> None:
    root = make_job(store, task=None)
    store.enqueue_many(NewJob(task="work", parent=root), [{}] * 10_000)
    stopper = connect()
    stopper.execute("SELECT tenure.stop(%s)", (root,))
    assert store.statistics().by_status.get("cancelled") is None
    stopper.commit()
    assert store.statistics().by_status == {"cancelled": 10_001}
