"""One audit row for every action from outside, in the transaction of the action."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NEVER
from tenure.domain.lifecycle import Intent, State
from tenure.errors import TenureError
from tenure.store.results import AuditRow
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job, make_job_in, make_worker

WHO: dict[str, Any] = {"by": "user:ann", "via": "test"}


@dataclass(frozen=True)
class Action:
    """Something people do, and the row it must leave."""

    verb: str
    subject: str
    prepare: Callable[[Store], Any]
    act: Callable[[Store, Any], object]
    reason: bool = True


def running(store: Store) -> int:
    return make_job_in(store, State.RUNNING)


def cancelling(store: Store) -> int:
    job = running(store)
    store.stop(job, grace=timedelta(minutes=1))
    return job


def pool(store: Store) -> str:
    store.create_pool("tree", ["main"])
    return "tree"


def paused_queue(store: Store) -> str:
    store.pause_dispatch("queue", "slow")
    return "slow"


def because(**more: Any) -> dict[str, Any]:
    return {**WHO, "reason": "because", **more}


ACTIONS = [
    Action("cancel", "job", make_job, lambda s, job: s.stop(job, **because())),
    Action("pause", "job", running, lambda s, job: s.stop(job, **because(intent=Intent.PAUSE))),
    Action("force", "job", cancelling, lambda s, job: s.stop(job, **because(force=True))),
    Action("hurry", "job", cancelling, lambda s, job: s.stop(job, **because(grace=timedelta(0)))),
    Action(
        "resume",
        "job",
        lambda s: make_job_in(s, State.PAUSED),
        lambda s, job: s.resume(job, **because()),
    ),
    Action(
        "clear",
        "job",
        lambda s: make_job_in(s, State.FAILED),
        lambda s, job: s.clear(job, **because()),
    ),
    Action("rerun", "job", make_job, lambda s, job: s.rerun(job, **because())),
    Action(
        "queue",
        "job",
        lambda s: make_job(s, run_at=NEVER),
        lambda s, job: s.queue(job, **WHO),
        reason=False,
    ),
    Action(
        "pause", "queue", lambda _: "slow", lambda s, q: s.pause_dispatch("queue", q, **because())
    ),
    Action(
        "pause",
        "target",
        lambda _: "site:x",
        lambda s, t: s.pause_dispatch("target", t, **because()),
    ),
    Action("pause", "tenant", lambda _: "", lambda s, _: s.pause_dispatch("tenant", **because())),
    Action(
        "resume", "queue", paused_queue, lambda s, q: s.resume_dispatch("queue", q, **because())
    ),
    Action(
        "create",
        "pool",
        lambda _: "tree",
        lambda s, p: s.create_pool(p, ["main"], **WHO),
        reason=False,
    ),
    Action("change", "pool", pool, lambda s, p: s.change_slots(p, add=["b"], **WHO), reason=False),
    Action("release", "pool", pool, lambda s, p: s.release_slot(p, "main", **because())),
    Action(
        "drain",
        "worker",
        lambda s: make_worker(s).id,
        lambda s, worker: s.drain(worker, **because()),
    ),
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: f"{action.verb} {action.subject}")
def test_every_action_leaves_exactly_one_row(store: Store, action: Action) -> None:
    name = action.prepare(store)
    before = store.audit_log()
    action.act(store, name)
    rows = store.audit_log()
    assert len(rows) == len(before) + 1
    row = rows[0]
    assert (row.verb, row.subject, row.name) == (action.verb, action.subject, str(name))
    assert (row.actor, row.via) == ("user:ann", "test")
    assert row.reason == ("because" if action.reason else None)
    assert row.before is not None or row.after is not None, "what was it before, what after?"


def test_slots_added_from_sql_leave_a_row_too(store: Store, sql: psycopg.Connection) -> None:
    pool(store)
    before = len(store.audit_log())
    sql.execute("SELECT tenure.change_slots('tree', add => '{b}')")
    rows = store.audit_log()
    assert len(rows) == before + 1
    assert (rows[0].verb, rows[0].actor, rows[0].via) == ("change", "db:postgres", "sql")


def test_who_was_let_in_is_on_record(store: Store) -> None:
    store.admit("postgres", "viewer")
    (row,) = store.audit_log()
    assert (row.verb, row.name, row.actor) == ("admit", "postgres", "db:postgres")


def last(store: Store) -> AuditRow:
    return store.audit_log()[0]


def test_a_row_says_what_was_before_and_after(store: Store) -> None:
    job = make_job_in(store, State.RUNNING)
    record = store.stop(job, cascade=False)
    assert last(store).before == {"state": "running"}
    assert last(store).after == {
        "cancellation_id": record.cancellation_id,
        "force": False,
        "cascade": False,
    }
    store.stop(job, force=True)
    assert (last(store).before["force"], last(store).after["force"]) == (False, True)


def test_a_row_of_a_resume_names_every_job_it_reached(store: Store) -> None:
    job = make_job_in(store, State.FAILED)
    store.resume(job, fresh=True)
    assert last(store).before == {"state": "failed"}
    assert last(store).after == {"fresh": True, "jobs": [job]}


def test_without_a_name_the_database_user_is_on_record(store: Store) -> None:
    store.stop(make_job(store))
    assert (last(store).actor, last(store).via) == ("db:postgres", "python")


def test_the_row_stands_and_falls_with_the_action(store: Store, connect: Connect) -> None:
    job = make_job(store)
    caller = connect()
    for statement in (f"tenure.stop({job})", "tenure.pause_dispatch('queue', 'slow')"):
        caller.execute(f"SELECT {statement}".encode())
    assert store.audit_log() == ()
    caller.rollback()
    assert store.audit_log() == ()
    caller.execute(f"SELECT tenure.stop({job})".encode())
    caller.commit()
    assert len(store.audit_log()) == 1


def test_what_is_refused_leaves_no_row(store: Store) -> None:
    done = make_job_in(store, State.COMPLETED)
    store.create_pool("tree", ["main"])
    make_job(store, pools=["tree"])
    make_worker(store).claim_one()
    before = store.audit_log()
    refused: list[Callable[[], object]] = [
        lambda: store.stop(done),
        lambda: store.stop(done, intent=Intent.PAUSE),
        lambda: store.stop(4711),
        lambda: store.resume(done),
        lambda: store.clear(done),
        lambda: store.rerun(4711),
        lambda: store.queue(done),
        lambda: store.pause_dispatch("tenant", "x"),
        lambda: store.create_pool("tree"),
        lambda: store.change_slots("tree", add=["b"], remove=["main"]),
        lambda: store.release_slot("tree", "main"),
        lambda: store.release_slot("tree", "nothing"),
    ]
    for act in refused:
        with pytest.raises(TenureError):
            act()
    assert store.audit_log() == before


def test_what_changes_nothing_leaves_no_row(store: Store) -> None:
    paused_queue(store)
    before = store.audit_log()
    assert store.pause_dispatch("queue", "slow") == {"paused": False}
    assert store.resume_dispatch("queue", "other") == {"resumed": False}
    assert store.audit_log() == before


def test_a_replaced_job_leaves_one_row(store: Store) -> None:
    old = make_job(store, unique="k")
    make_job(store, unique="k", when_taken="replace")
    (row,) = store.audit_log()
    assert (row.verb, row.name) == ("cancel", str(old))


def test_the_trail_is_read_by_subject_and_in_pages(store: Store) -> None:
    jobs = [make_job(store) for _ in range(3)]
    for job in jobs:
        store.stop(job)
    store.pause_dispatch("queue", "slow")
    assert [row.name for row in store.audit_log("queue")] == ["slow"]
    assert [row.name for row in store.audit_log("job", str(jobs[1]))] == [str(jobs[1])]
    first = store.audit_log(n=2)
    assert [row.name for row in first] == ["slow", str(jobs[2])]
    rest = store.audit_log(below=first[-1].id, n=10)
    assert [row.name for row in rest] == [str(jobs[1]), str(jobs[0])]


def test_an_attempt_has_a_row_unless_it_completed_the_first_time(store: Store) -> None:
    worker = make_worker(store)
    make_job(store)
    smooth = worker.claim_one()
    worker.finish(smooth)
    assert store.show(smooth.id).attempts == ()
    make_job(store)
    rough = worker.claim_one()
    worker.finish(rough, "retry", error={"type": "E", "message": "no"})
    worker.finish(worker.claim_one())
    first, second = store.show(rough.id).attempts
    assert (first["attempt"], first["outcome"], first["error"]["message"]) == (1, "retry", "no")
    assert (second["attempt"], second["outcome"]) == (2, "completed")
    assert first["worker_id"] == str(worker.id)
