"""Targets as people see them, and the tenants there are."""

import psycopg
import pytest

from tenure.domain.lifecycle import Intent
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused
from tenure.store import schema
from tenure.store.calls import queries
from tenure.store.results import Target
from tenure.store.store import Store
from tests.factories import make_job, make_worker, promote


def by_name(store: Store) -> dict[str, Target]:
    return {target.name: target for target in store.targets()}


def test_a_target_says_who_has_it_and_who_waits(store: Store) -> None:
    first = make_job(store, target="site")
    second = make_job(store, target="site")
    urgent = make_job(store, target="site", priority=9)
    promote(store)
    (seen,) = store.targets()
    assert (seen.name, seen.holder, seen.line, seen.paused) == ("site", urgent, 2, False)
    assert (seen.next, seen.blocked_by) == (first, ())
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    (seen,) = store.targets()
    assert (seen.holder, seen.next, seen.line) == (first, second, 1)


def test_paused_and_failed_jobs_close_it(store: Store) -> None:
    worker = make_worker(store)
    failed = make_job(store, target="a")
    promote(store)
    worker.finish(worker.claim_one(), "failed", error={"type": "E", "message": "no"})
    paused = make_job(store, target="b")
    promote(store)
    store.stop(paused, intent=Intent.PAUSE)
    behind = make_job(store, target="b")
    promote(store)
    seen = by_name(store)
    assert (seen["a"].blocked_by, seen["a"].line) == ((failed,), 0)
    assert (seen["b"].blocked_by, seen["b"].next, seen["b"].line) == ((paused,), behind, 1)
    store.clear(failed)
    assert set(by_name(store)) == {"b"}


def test_a_paused_target_is_seen_without_any_job(store: Store) -> None:
    store.pause_dispatch("target", "quiet")
    (seen,) = store.targets()
    assert (seen.name, seen.paused, seen.line, seen.holder) == ("quiet", True, 0, None)


def test_one_is_asked_for_by_name_and_many_by_the_page(store: Store) -> None:
    for name in ("c", "a", "b"):
        make_job(store, target=name)
    promote(store)
    assert [target.name for target in store.targets(n=2)] == ["a", "b"]
    assert [target.name for target in store.targets(n=2, after="b")] == ["c"]
    assert [target.name for target in store.targets("b")] == ["b"]
    (free,) = store.targets("free")
    assert (free.holder, free.line, free.next, free.blocked_by) == (None, 0, None, ())
    for n in (0, 1001):
        with pytest.raises(InputRefused, match="1 to 1000 are"):
            store.targets(n=n)


def test_a_long_line_is_not_walked_for_the_names(store: Store, sql: psycopg.Connection) -> None:
    for _ in range(30):
        make_job(store, target="busy")
    make_job(store, target="idle")
    promote(store)
    with sql.transaction():
        sql.execute("SET LOCAL enable_seqscan = off")
        plan = sql.execute(
            "EXPLAIN (FORMAT TEXT) SELECT j.target FROM tenure.job AS j"
            " WHERE j.waiting = 'target' AND j.target > 'a' ORDER BY j.target LIMIT 1"
        ).fetchall()
    assert "job_line" in str(plan)
    assert {name: seen.line for name, seen in by_name(store).items()} == {"busy": 29, "idle": 0}


def test_queues_are_those_of_the_statistics(store: Store) -> None:
    make_job(store, queue="far")
    store.pause_dispatch("queue", "far")
    seen = store.send(queries.queues())
    assert seen.keys() == store.statistics().queues.keys() == {"far"}
    assert (seen["far"].by_status, seen["far"].paused) == ({"queued": 1}, True)


def test_every_tenant_is_listed_with_whether_it_is_paused(
    store: Store, sql: psycopg.Connection, database: str
) -> None:
    acme = Tenant("acme")
    schema.migrate(sql, acme)
    with Store(database, acme) as theirs:
        theirs.pause_dispatch("tenant")
    assert [(t.name, t.schema, t.paused) for t in store.tenants()] == [
        ("acme", "tenure_acme", True),
        ("default", "tenure", False),
    ]
