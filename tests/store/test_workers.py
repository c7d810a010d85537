"""workers: who works, how they are, and what they hold."""

import psycopg

from tenure.domain.tenant import Tenant
from tenure.store import schema
from tenure.store.store import Store
from tests.factories import make_job, make_worker
from tests.store.roles import Roles
from tests.store.test_roles import roles

__all__ = ["roles"]


def statuses(store: Store, *, all: bool = False) -> dict[str, str]:  # noqa: A002
    return {str(worker.id): worker.status for worker in store.workers(all=all)}


def test_every_living_worker_is_there_with_what_it_holds(store: Store) -> None:
    assert store.workers() == ()
    first, second = make_worker(store, queues=["far"]), make_worker(store)
    make_job(store, "slow", queue="far")
    job = first.claim_one()
    holder, other = store.workers()
    assert (holder.id, holder.host, holder.pid, holder.status) == (
        first.id,
        "test-host",
        1,
        "alive",
    )
    assert (holder.queues, other.queues) == (("far",), None)
    assert [(held.tenant, held.job_id, held.task) for held in holder.jobs] == [
        ("default", job.id, "slow")
    ]
    assert holder.started_at <= holder.jobs[0].since <= holder.expires_at
    assert (other.id, other.jobs) == (second.id, ())


def test_a_draining_worker_shows_what_it_waits_for(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.drain(worker.id)
    (shown,) = store.workers()
    assert (shown.status, [held.job_id for held in shown.jobs]) == ("draining", [job.id])
    assert shown.draining_at is not None
    worker.finish(job)
    assert store.workers()[0].jobs == ()


def test_the_late_are_shown_and_the_dead_and_departed_only_when_asked_for(
    store: Store, sql: psycopg.Connection
) -> None:
    alive, late, dead, left = (make_worker(store) for _ in range(4))
    age = "UPDATE tenure.worker SET expires_at = now() - interval '1s' WHERE id = ANY (%s)"
    sql.execute(age, ([late.id, dead.id],))
    sql.execute("UPDATE tenure.worker SET dead_at = now() WHERE id = %s", (dead.id,))
    store.leave(left.id)
    living = {str(alive.id): "alive", str(late.id): "late"}
    assert statuses(store) == living
    assert statuses(store, all=True) == living | {str(dead.id): "dead", str(left.id): "left"}


def test_a_worker_of_many_jobs_shows_a_hundred(store: Store) -> None:
    for _ in range(103):
        make_job(store)
    worker = make_worker(store)
    worker.claim(103)
    assert len(store.workers()[0].jobs) == 100


def test_jobs_of_every_tenant_are_shown_to_who_may_see_them(
    store: Store, sql: psycopg.Connection, database: str, roles: Roles
) -> None:
    schema.migrate(sql, Tenant("acme"))
    worker = make_worker(store)
    with Store(database, Tenant("acme")) as acme:
        acmes, ours = make_job(acme, "secret"), make_job(store)
        acme.claim(worker.id, 1)
        worker.claim()
        seen = {(held.tenant, held.job_id) for held in store.workers()[0].jobs}
        assert seen == {("default", ours), ("acme", acmes)}

    _, viewer = roles.make("viewer")
    assert {held.tenant for held in viewer.workers()[0].jobs} == {"default"}
    with Store(database, Tenant("acme")) as acme:
        name, stranger = roles.make()
        acme.admit(name, "viewer")
        assert {held.tenant for held in stranger.workers()[0].jobs} == {"acme"}
