"""Tenants: nothing of one is visible to another."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from tenure.control.client import Client
from tenure.domain.lifecycle import State
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import (
    IllegalTransition,
    InputRefused,
    JobNotFound,
    NotAllowed,
    NotFound,
    SchemaMismatch,
    TenureError,
)
from tenure.store import schema
from tenure.store.migrating import Migrator
from tenure.store.outcomes import Ending, Report
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import Worker, make_job, make_worker
from tests.workers import eventually

ACME = Tenant("acme")


@pytest.fixture
def acme(database: str, sql: psycopg.Connection) -> Iterator[Store]:
    schema.migrate(sql, ACME)
    with Store(database, ACME) as store:
        yield store


def test_no_verb_sees_a_job_of_another_tenant(store: Store, acme: Store) -> None:
    mine = make_job(acme)
    theirs = [make_job(store) for _ in range(5)][-1]
    for look in (
        acme.show,
        acme.explain,
        acme.stop,
        acme.resume,
        acme.clear,
        acme.rerun,
        acme.queue,
    ):
        with pytest.raises(JobNotFound):
            look(theirs)
    assert [job.id for job in acme.list_jobs()] == [mine]
    assert acme.statistics().total == 1
    assert (acme.recover().recovered, acme.promote().linked) == ((), 0)
    assert store.show(theirs).state is State.PENDING
    with pytest.raises(JobNotFound):
        make_job(acme, parent=theirs)
    with pytest.raises(JobNotFound):
        make_job(acme, after=[theirs])


def test_a_worker_claims_and_ends_jobs_of_the_tenant_it_speaks_to(
    store: Store, acme: Store
) -> None:
    theirs, mine = make_job(store), make_job(acme)
    worker = make_worker(store)
    ours = Worker(acme, worker.id)
    claimed = ours.claim(10)
    assert len(claimed) == 1
    (job,) = claimed
    assert [held.job for held in acme.held(worker.id)] == [mine]
    assert store.held(worker.id) == ()
    wrong = [Ending(job=job.id, token=job.token, outcome="completed")]
    assert store.finish(worker.id, wrong).accepted == {}
    assert store.report(worker.id, [Report(job=job.id, token=job.token)]).accepted == ()
    assert store.show(theirs).state is State.PENDING
    assert ours.finish(job).accepted == {mine: State.COMPLETED}


def test_records_trails_pools_and_pauses_are_apart(store: Store, acme: Store) -> None:
    record = store.stop(make_job(store))
    store.create_pool("tree", ["main"])
    store.pause_dispatch("queue", "default")
    store.pause_dispatch("tenant")
    assert (acme.cancellations(), acme.audit_log(), acme.pools()) == ((), (), ())
    with pytest.raises(NotFound):
        acme.cancellation(record.cancellation_id)
    with pytest.raises(InputRefused, match="there is no pool"):
        make_job(acme, pools=["tree"])
    make_job(acme)
    assert len(make_worker(acme).claim(10)) == 1


def test_keys_and_targets_are_apart(store: Store, acme: Store) -> None:
    for here in (store, acme):
        (job,) = [make_job(here, unique="k", idempotency="i", target="site:x")]
        here.promote()
        assert make_worker(here).claim_one().id == job


def test_signals_name_their_tenant(store: Store, acme: Store) -> None:
    worker = make_worker(store)
    for here in (store, acme):
        make_job(here)
        here.stop(Worker(here, worker.id).claim_one().id)
    assert sorted(signal.tenant for signal in store.renew(worker.id).signals) == ["acme", "default"]


def test_each_tenant_takes_back_its_own_jobs_of_a_dead_worker(
    store: Store, acme: Store, sql: psycopg.Connection
) -> None:
    worker = make_worker(store)
    jobs = []
    for here in (store, acme):
        make_job(here)
        jobs.append(Worker(here, worker.id).claim_one().id)
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'")
    assert [one.job for one in acme.recover().recovered] == [jobs[1]]
    assert store.show(jobs[0]).state is State.RUNNING
    assert [one.job for one in store.recover().recovered] == [jobs[0]]


@pytest.fixture
def role(sql: psycopg.Connection, acme: Store) -> Iterator[str]:
    name = f"test_tenant_{uuid4().hex[:12]}"
    sql.execute(f"CREATE ROLE {name} LOGIN".encode())
    yield name
    sql.execute(f"DROP OWNED BY {name}".encode())
    sql.execute(f"DROP ROLE {name}".encode())


def test_a_role_of_one_tenant_cannot_call_the_verbs_of_another(
    store: Store, acme: Store, database: str, role: str
) -> None:
    acme.admit(role, "operator")
    job, theirs = make_job(acme), make_job(store)
    url = database.replace("//postgres@", f"//{role}@")
    with Store(url, ACME) as inside, Store(url) as outside:
        assert inside.show(job).id == job
        calls: list[Callable[[], object]] = [
            lambda: outside.show(theirs),
            lambda: outside.list_jobs(),
            lambda: outside.stop(theirs),
            lambda: outside.statistics(),
            lambda: outside.audit_log(),
            lambda: outside.recover(),
            lambda: outside.pause_dispatch("tenant"),
        ]
        for call in calls:
            with pytest.raises(NotAllowed):
                call()
    assert store.show(theirs).state is State.PENDING


@pytest.mark.parametrize(
    "name",
    ["", "Acme", "1st", "a-b", "a b", 'a"b', "a;b", "a.b", "é", "a\n", "_a", "a" * 49, "pg\x00"],
)
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    with pytest.raises(InputRefused, match="cannot be the name of a tenant"):
        Tenant(name)


def test_the_longest_name_is_taken_and_shortens_nothing(
    database: str, sql: psycopg.Connection
) -> None:
    for last in "xy":
        tenant = Tenant("a" * 47 + last)
        schema.migrate(sql, tenant)
        with Store(database, tenant) as store:
            make_job(store)
            assert store.statistics().total == 1
    assert len(schema.tenants(sql)) == 3


def test_the_database_refuses_such_names_too(sql: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        sql.execute("INSERT INTO tenure.tenant VALUES ('A b', 'tenure_A b', clock_timestamp())")


def test_a_tenant_that_was_never_made_says_what_to_do(database: str) -> None:
    with (
        Store(database, Tenant("nobody")) as store,
        pytest.raises(SchemaMismatch, match="tenure migrate"),
    ):
        store.list_jobs()


def test_dropping_a_tenant_leaves_nothing_of_it_and_the_others_alone(
    store: Store, acme: Store, database: str, sql: psycopg.Connection
) -> None:
    worker = make_worker(acme, timedelta(hours=1))
    make_job(acme)
    acme.stop(worker.claim_one().id)
    kept = make_job(store)
    Migrator(database).drop(ACME, force=True)
    assert schema.tenants(sql) == [DEFAULT]
    for table, column in (("signal", "tenant"), ("migration", "scope"), ("verbs", "scope")):
        query = f"SELECT count(*) FROM tenure.{table} WHERE {column} = 'acme'"
        assert sql.execute(query.encode()).fetchone() == (0,), table
    assert sql.execute("SELECT to_regnamespace('tenure_acme') IS NULL").fetchone() == (True,)
    with pytest.raises(SchemaMismatch):
        acme.list_jobs()
    assert store.show(kept).state is State.PENDING


def test_the_default_tenant_cannot_be_dropped(store: Store, database: str) -> None:
    job = make_job(store)
    with pytest.raises(InputRefused, match="cannot be dropped"):
        Migrator(database).drop(DEFAULT)
    assert store.show(job).id == job


def test_a_tenant_whose_jobs_are_held_is_dropped_by_force_alone(
    store: Store, acme: Store, database: str
) -> None:
    make_job(acme)
    make_worker(acme, timedelta(hours=1)).claim_one()
    with pytest.raises(IllegalTransition, match="workers hold 1 jobs of tenant acme; cancel them"):
        Migrator(database).drop(ACME)
    assert acme.statistics().total == 1
    assert [row.verb for row in store.audit_log("tenant")] == ["create"]
    with Client(database) as client:
        client.drop_tenant("acme", force=True, by="root", via="cli")
        with pytest.raises(NotFound, match="there is no tenant 'acme'"):
            client.drop_tenant("acme")
    row = store.audit_log("tenant", "acme")[0]
    assert (row.verb, row.actor, row.via) == ("drop", "root", "cli")
    assert row.before == {"running": 1}


def test_whoever_claims_while_a_tenant_is_dropped_waits_and_finds_it_gone(
    acme: Store, database: str, connect: Connect
) -> None:
    make_job(acme)
    worker = make_worker(acme, timedelta(hours=1))
    claiming = connect()
    claiming.execute("SELECT tenure_acme.claim(%s, 1)", (worker.id,))
    refused: list[TenureError] = []

    def drop() -> None:
        try:
            Migrator(database).drop(ACME)
        except TenureError as refusal:
            refused.append(refusal)

    dropping = threading.Thread(target=drop)
    dropping.start()
    watch = connect()
    watch.autocommit = True
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    eventually(lambda: watch.execute(waiting).fetchone() == (1,), "the drop waits for the claim")
    claiming.commit()
    dropping.join()
    assert [str(refusal) for refusal in refused] == [
        "workers hold 1 jobs of tenant acme; cancel them first, or drop it by force"
    ]


def test_a_drop_that_waits_for_somebody_who_waits_for_it_is_tried_again(
    acme: Store, database: str, connect: Connect
) -> None:
    make_job(acme)
    working = connect()
    working.execute("SET deadlock_timeout = '1h'")  # so it is the drop that gives way
    working.execute("SELECT FROM tenure_acme.payload")
    dropping = threading.Thread(target=Migrator(database).drop, args=(ACME,))
    dropping.start()
    watch = connect()
    watch.autocommit = True
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    eventually(lambda: watch.execute(waiting).fetchone() == (1,), "the drop waits for us")
    working.execute("SELECT FROM tenure_acme.job")
    working.commit()
    dropping.join()
    assert ACME not in Migrator(database).tenants()
