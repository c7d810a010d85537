"""One worker for many tenants: all are served, none takes all slots, idle ones cost little."""

from pathlib import Path

import psycopg

from tenure.app import Tenure
from tenure.domain.lifecycle import State, Status
from tenure.domain.tenant import Tenant
from tenure.store.migrating import Migrator
from tenure.store.store import Store
from tests.apps import serving
from tests.system.test_serving import PLACE, app
from tests.workers import RunningWorker, eventually, running_worker

__all__ = ["app"]

DEAF = {"TENURE_POLL": "500ms"}


def make_tenants(database: str, *names: str) -> None:
    for name in names:
        Migrator(database).migrate(Tenant(name))


def connections(sql: psycopg.Connection) -> int:
    """Return the number of connections that workers have to the database."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure keeper'"
    [(found,)] = sql.execute(query).fetchall()
    return int(found)


def test_a_tenant_that_comes_later_is_served_too_and_one_that_goes_is_not_missed(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    make_tenants(database, "acme")
    with running_worker(database, tmp_path, "--all-tenants", app=PLACE, settings=DEAF) as worker:
        assert serving.quick.using(tenant="acme").enqueue().result(timeout="45s") == "done"
        make_tenants(database, "later")
        assert serving.quick.using(tenant="later").enqueue().result(timeout="45s") == "done"
        Migrator(database).drop(Tenant("acme"))
        assert serving.quick.enqueue().result(timeout="45s") == "done"
        assert worker.drain() == 0


def test_jobs_of_a_tenant_that_is_dropped_are_killed_and_nobody_waits_for_them(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    make_tenants(database, "acme")
    with running_worker(database, tmp_path, "--all-tenants", app=PLACE, settings=DEAF) as worker:
        job = serving.waits.using(tenant="acme").enqueue()
        eventually(lambda: job.status() == Status.RUNNING)
        Migrator(database).drop(Tenant("acme"), force=True)
        worker.says("is killed: its tenant was dropped")
        assert serving.quick.enqueue().result(timeout="45s") == "done"
        assert worker.drain() == 0


def test_a_tenant_whose_tables_are_locked_holds_up_nobody(
    app: Tenure, store: Store, sql: psycopg.Connection, database: str, tmp_path: Path
) -> None:
    """A migration or a drop locks them so. Both connection slots keep trying the tenant."""
    make_tenants(database, "acme")
    settings = {"TENURE_LEASE": "10m", "TENURE_BEAT": "1s", "TENURE_POLL": "200ms"}
    with running_worker(database, tmp_path, "--all-tenants", app=PLACE, settings=settings):
        assert serving.quick.using(tenant="acme").enqueue().result(timeout="45s") == "done"
        held = serving.quick.using(tenant="acme", delay="1s").enqueue()
        with sql.transaction():
            sql.execute("LOCK TABLE tenure_acme.job IN ACCESS EXCLUSIVE MODE")
            for _ in range(5):
                assert serving.quick.enqueue().result(timeout="45s") == "done"
        assert held.result(timeout="45s") == "done"


def test_more_tenants_take_no_more_connections(
    app: Tenure, sql: psycopg.Connection, database: str, tmp_path: Path
) -> None:
    names = ["acme", "bravo", "charlie", "delta"]
    make_tenants(database, *names)
    with running_worker(database, tmp_path, "--all-tenants", app=PLACE):
        jobs = [serving.quick.using(tenant=name).enqueue() for name in names]
        assert [job.result(timeout="45s") for job in jobs] == ["done"] * 4
        assert connections(sql) <= 4


def test_a_job_of_which_nobody_heard_is_found(
    app: Tenure, sql: psycopg.Connection, database: str, tmp_path: Path
) -> None:
    """One query over all tenants shows which of them have new jobs."""
    names = [f"quiet{number}" for number in range(6)]
    make_tenants(database, *names)
    settings = {"TENURE_POLL": "300ms"}
    with running_worker(database, tmp_path, "--all-tenants", app=PLACE, settings=settings):
        assert serving.quick.using(tenant="quiet0").enqueue().result(timeout="45s") == "done"
        for name in names:  # no notification is sent from now on
            schema = Tenant(name).schema
            sql.execute(
                f"CREATE OR REPLACE FUNCTION {schema}.notify_idle(queues text[]) RETURNS void"
                f" LANGUAGE sql AS 'SELECT'".encode()
            )
        jobs = [serving.quick.using(tenant=name).enqueue() for name in names]
        assert [job.result(timeout="45s") for job in jobs] == ["done"] * 6


def test_nobody_takes_all_the_room(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    make_tenants(database, "acme")
    many = serving.naps.enqueue_many([{}] * 60)
    with running_worker(database, tmp_path, "--all-tenants", "--concurrency", "2", app=PLACE):
        eventually(lambda: store.show(many[0].id).state is State.COMPLETED)
        few = [serving.naps.using(tenant="acme").enqueue() for _ in range(3)]
        for job in few:
            job.result(timeout="45s")
        assert store.show(many[-1].id).state is State.PENDING


def test_the_room_of_a_worker_is_for_all_tenants_together(
    app: Tenure, store: Store, database: str, tmp_path: Path
) -> None:
    make_tenants(database, "acme")
    with Store(database, Tenant("acme")) as acme:
        for tenant in ("default", "acme"):
            serving.holds_its_slot.using(tenant=tenant).enqueue_many([{"steps": 1}] * 3)
        options = ("--tenants", "default,acme", "--concurrency", "4")
        with running_worker(database, tmp_path, *options, app=PLACE):
            stores = (store, acme)
            eventually(lambda: sum(count_running(one) for one in stores) == 4)
            assert [count_running(one) for one in stores] == [2, 2]


def count_running(store: Store) -> int:
    return sum(job.state is State.RUNNING for job in store.list_jobs())


def test_runners_of_tenants_that_have_nothing_to_do_are_dismissed(
    app: Tenure, database: str, tmp_path: Path
) -> None:
    names = [f"tenant{number}" for number in range(12)]
    make_tenants(database, *names)
    with running_worker(
        database, tmp_path, "--all-tenants", "--processes", "1", app=PLACE
    ) as worker:
        for name in names:
            assert serving.quick.using(tenant=name).enqueue().result(timeout="45s") == "done"
        eventually(lambda: few_runners(worker))


def few_runners(worker: RunningWorker) -> bool:
    """Allow for runners of recent tenants, a spare, and one that may be starting."""
    return len(worker.runners) <= 9


def test_what_a_dead_worker_held_is_recovered_in_every_tenant(
    app: Tenure, database: str, tmp_path: Path
) -> None:
    names = ["acme", "bravo", "charlie"]
    make_tenants(database, *names)
    with running_worker(database, tmp_path, "--all-tenants", app=PLACE, host="one") as first:
        jobs = [serving.waits.using(tenant=name).enqueue() for name in names]
        eventually(lambda: all(job.status() == Status.RUNNING for job in jobs))
        first.process.kill()
        (tmp_path / "go").touch()
        with running_worker(database, tmp_path, "--all-tenants", app=PLACE, host="two"):
            assert [job.result(timeout="45s") for job in jobs] == ["gone"] * 3
