"""One fleet for many tenants: who has moved, whom a notice is for, and where the dead held jobs."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.errors import NotFound
from tenure.store import schema
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import Worker, make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.roles import Roles

ACME = Tenant("acme")
HOUR = timedelta(hours=1)


@pytest.fixture
def acme(database: str, sql: psycopg.Connection) -> Iterator[Store]:
    schema.migrate(sql, ACME)
    with Store(database, ACME) as store:
        yield store


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def number(store: Store, tenant: Tenant = ACME) -> int:
    return store.tenant_activity([tenant.name]).tenants[tenant.name]


def paused_queue(store: Store) -> None:
    store.pause_dispatch("queue", "default")


def two_for_one_target(store: Store) -> None:
    store.enqueue([NewJob(task="work", target="site")] * 2)


# What makes a worker look, and what has to be there before.
STIRRING: dict[str, tuple[Callable[[Store], object], Callable[[Store], object]]] = {
    "a job": (lambda _: None, make_job),
    "many jobs": (lambda _: None, lambda s: s.enqueue_many(NewJob(task="work"), [{}])),
    "a job for later": (lambda _: None, lambda s: make_job(s, delay=HOUR)),
    "a job for its target": (lambda _: None, lambda s: make_job(s, target="site")),
    "a whole job": (
        lambda _: None,
        lambda s: s.enqueue([NewJob(key="all"), NewJob(key="a", task="work", parent="all")]),
    ),
    "a resumed job": (lambda s: make_job_in(s, State.PAUSED), lambda s: s.resume(1)),
    "a job that is run again": (lambda s: make_job_in(s, State.COMPLETED), lambda s: s.rerun(1)),
    "a queue that is open again": (paused_queue, lambda s: s.resume_dispatch("queue", "default")),
    "a stop of who was first": (two_for_one_target, lambda s: s.stop(1)),
    "a policy": (
        lambda _: None,
        lambda s: s.set_policy("old", {"when": {"running": "1h"}}),
    ),
    "a bulk stop": (make_job, lambda s: s.bulk_stop({"queue": "default"}, reason="enough")),
}


@pytest.mark.parametrize("what", STIRRING)
def test_whatever_a_worker_should_look_at_moves_its_tenant(
    what: str, store: Store, acme: Store
) -> None:
    prepare, act = STIRRING[what]
    prepare(acme)
    promote(acme)
    before, elsewhere = number(store), number(store, Tenant("default"))
    act(acme)
    assert number(store) > before
    assert number(store, Tenant("default")) == elsewhere


def test_a_job_that_is_given_back_moves_its_tenant(store: Store, acme: Store) -> None:
    make_job(acme)
    worker = make_worker(acme)
    job = worker.claim_one()
    before = number(store)
    worker.release(job)
    assert number(store) > before


def test_a_job_that_is_to_be_tried_again_later_moves_its_tenant(store: Store, acme: Store) -> None:
    """Who finished it may be gone by then: others have to know when its time comes."""
    make_job(acme, max_attempts=3)
    worker = make_worker(acme)
    job = worker.claim_one()
    before = number(store)
    worker.finish(job, "retry", run_at=datetime.now(UTC) + HOUR)
    assert number(store) > before


def test_a_tenant_in_which_nothing_has_ever_happened_has_not_moved(
    store: Store, acme: Store
) -> None:
    assert number(store) == 0
    acme.promote()
    assert number(store) == 0
    make_job(acme)
    assert number(store) > 0


def test_looking_moves_nobody(store: Store, acme: Store) -> None:
    make_job(acme)
    worker = make_worker(acme)
    before = number(store)
    acme.exchange(worker.id, promoting=True)
    acme.list_jobs()
    assert number(store) == before


def test_a_tenant_has_moved_before_it_is_seen_why(
    store: Store, acme: Store, connect: Connect
) -> None:
    before = store.tenant_activity(["acme"])
    with connect() as writer, writer.transaction():
        writer.execute('SELECT tenure_acme.enqueue(\'{"task": "work"}\')')
        moved = store.tenant_activity(["acme"])
        assert moved.tenants["acme"] > before.tenants["acme"]
        assert store.tenant_activity(["acme"]).open < moved.next, "it is under way"
    after = store.tenant_activity(["acme"])
    assert after.tenants == moved.tenants
    assert after.open >= moved.next, "all that was under way then is over"


def test_without_names_everybody_is_told_of(store: Store, acme: Store) -> None:
    assert set(store.tenant_activity().tenants) == {"default", "acme"}
    assert set(store.tenant_activity(["acme", "nobody"]).tenants) == {"acme"}


def test_many_are_told_of_a_few_at_a_time(
    store: Store, acme: Store, sql: psycopg.Connection
) -> None:
    ask = "SELECT tenure.tenant_activity(names => %s, after => %s, n => 1)"
    [(first,)] = sql.execute(ask, (None, "")).fetchall()
    [(second,)] = sql.execute(ask, (None, "acme")).fetchall()
    [(none,)] = sql.execute(ask, (["acme"], "default")).fetchall()
    assert (list(first["tenants"]), first["more"]) == (["acme"], True)
    assert list(second["tenants"]) == ["default"]
    assert (none["tenants"], none["more"]) == ({}, False)


def test_a_notice_tells_a_worker_of_no_tenant_whose_jobs_it_may_not_run(
    store: Store, acme: Store, sql: psycopg.Connection, roles: Roles
) -> None:
    """Whatever it says of itself."""
    _, ours = roles.make("worker")
    worker = make_worker(ours)
    [(served,)] = sql.execute(
        "SELECT tenants FROM tenure.worker WHERE id = %s", (worker.id,)
    ).fetchall()
    assert served == ["default"]
    for said in (["acme"], ["acme", "default"]):
        with pytest.raises(NotFound, match="no tenant 'acme' whose jobs this worker may run"):
            make_worker(ours, tenants=said)


def test_a_worker_is_told_of_tenants_whose_jobs_it_may_run(
    store: Store, acme: Store, sql: psycopg.Connection, database: str, roles: Roles
) -> None:
    others = Roles(acme, sql, database)
    _, ours = roles.make("worker")
    try:
        _, theirs = others.make("worker")
        assert set(ours.tenant_activity().tenants) == {"default"}
        assert set(theirs.tenant_activity().tenants) == {"acme"}
        holder = leave_something(acme)
        make_job(store)
        assert ours.sweep().tenants == ()
        assert theirs.sweep().tenants == ("acme",)
        assert holder
    finally:
        others.drop()


def leave_something(store: Store) -> Worker:
    """A worker that is gone, and held a job."""
    make_job(store)
    worker = make_worker(store)
    worker.claim_one()
    store.leave(worker.id)
    return worker


def test_a_sweep_says_where_the_dead_held_jobs(store: Store, acme: Store) -> None:
    living = make_worker(store)
    make_job(store)
    living.claim_one()
    assert store.sweep().tenants == ()
    leave_something(acme)
    assert store.sweep().tenants == ("acme",)
    acme.recover()
    assert store.sweep().tenants == ()
    assert [job.state for job in acme.list_jobs()] == [State.PENDING]


def test_a_sweep_says_so_until_all_are_taken_back(
    store: Store, acme: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    leave_something(acme)
    with connect() as other, other.transaction():
        other.execute("SELECT FROM tenure_acme.job FOR UPDATE")
        assert acme.recover().busy
        assert store.sweep().tenants == ("acme",)
    acme.recover()
    assert store.sweep().tenants == ()


def test_a_sweep_declares_the_late_dead(store: Store, acme: Store, sql: psycopg.Connection) -> None:
    make_job(acme)
    late = make_worker(store)
    acme.claim(late.id, 1)
    store.sweep()
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'")
    found = store.sweep()
    assert [dead.worker_id for dead in found.dead] == [late.id]
    assert found.tenants == ("acme",)


def test_a_worker_that_nobody_knows_is_missed_too(
    store: Store, acme: Store, sql: psycopg.Connection
) -> None:
    worker = leave_something(acme)
    sql.execute("DELETE FROM tenure.worker WHERE id = %s", (worker.id,))
    assert store.sweep().tenants == ("acme",)


def test_a_notice_is_for_workers_that_serve_its_tenant(
    store: Store, acme: Store, connect: Connect
) -> None:
    """However many others are idle: only a few are told."""
    others = [make_worker(store, tenants=["default"]) for _ in range(20)]
    ours = make_worker(store, tenants=["acme"])
    anybody = make_worker(store)
    for worker in (*others, ours, anybody):
        store.exchange(worker.id, wants_jobs=True)
    with connect() as listener:
        listener.autocommit = True
        for worker in (*others, ours, anybody):
            listener.execute(f'LISTEN "tenure_{worker.id}"'.encode())
        make_job(acme)
        heard = {note.channel: note.payload for note in listener.notifies(timeout=5, stop_after=2)}
        more = list(listener.notifies(timeout=0))
    assert heard == {f"tenure_{one.id}": "jobs acme" for one in (ours, anybody)}
    assert more == []


def test_wakes_of_before_keep_their_place(store: Store, sql: psycopg.Connection) -> None:
    """They draw from the counter of turns, which may be behind them when it is introduced."""
    jobs = make_jobs(
        store, [NewJob(key="first", task="work"), NewJob(key="then", task="work", after=("first",))]
    )
    assert jobs
    taken = sql.execute("SELECT last_value FROM tenure.activity").fetchone()
    sql.execute("INSERT INTO tenure.wake (job_id) VALUES (1)")
    [(drawn,)] = sql.execute("SELECT id FROM tenure.wake").fetchall()
    assert taken
    assert drawn > taken[0]


def test_a_recovery_does_not_forget_the_living(store: Store, acme: Store, connect: Connect) -> None:
    """One that holds nothing just now may claim in the same moment."""
    make_job(acme)
    worker = make_worker(acme)
    worker.finish(worker.claim_one())
    make_job(acme)
    with connect() as sweeper:
        sweeper.execute("SELECT tenure_acme.recover()")
        worker.claim_one()
    store.leave(worker.id)
    assert store.sweep().tenants == ("acme",)
