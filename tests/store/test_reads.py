"""Of what is there, a call reads what it is about, and not all that is ready, runs or waits.

Whatever the planner knows: its statistics may be from before a burst, from its middle, or later.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import LiteralString

import psycopg
import pytest

from tenure.domain.job import NEVER, NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, ending, make_job, make_worker, promote


def read_by(
    sql: psycopg.Connection,
    call: LiteralString,
    values: Sequence[object] | Mapping[str, object] = (),
) -> int:
    """Rows of jobs, and of what they wait for, that a call fetched by indexes."""
    with sql.transaction():
        sql.execute(call, values)
        [(fetched,)] = sql.execute(
            "SELECT sum(idx_tup_fetch) FROM pg_stat_xact_user_tables"
            " WHERE schemaname = 'tenure' AND relname IN ('job', 'edge')"
        ).fetchall()
    return int(fetched)


def worker_before_a_burst(store: Store, sql: psycopg.Connection) -> Worker:
    """Statistics are from when there was one job, and it was over."""
    make_job(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    sql.execute("ANALYZE tenure.job")
    return worker


def analyzing(sql: psycopg.Connection, chosen: str) -> Callable[[str], None]:
    """Statistics are from one moment of a test, whatever PostgreSQL thinks of it."""

    def analyze(moment: str) -> None:
        if moment == chosen:
            sql.execute("ANALYZE tenure.job, tenure.edge, tenure.wake")

    sql.execute("ALTER TABLE tenure.job SET (autovacuum_enabled = off)")
    return analyze


def test_a_claim_reads_what_it_takes_and_not_all_that_is_ready(
    store: Store, sql: psycopg.Connection
) -> None:
    worker = worker_before_a_burst(store, sql)
    store.enqueue_many(NewJob(task="work"), [{}] * 3000)
    assert read_by(sql, "SELECT tenure.claim(%s, 10)", [worker.id]) < 300


def test_a_promotion_reads_what_is_due_and_not_all_that_waits(
    store: Store, sql: psycopg.Connection, clock: Clock
) -> None:
    make_job(store)
    sql.execute("ANALYZE tenure.job")
    store.enqueue_many(NewJob(task="work", delay=timedelta(seconds=1)), [{}] * 3000)
    store.enqueue_many(NewJob(task="work", delay=timedelta(hours=1)), [{}] * 3000)
    clock.advance(timedelta(seconds=2))
    assert read_by(sql, "SELECT tenure.promote(10)") < 300


ONE = """jsonb_build_array(jsonb_build_object(
    'job', %(job)s, 'token', %(token)s, 'outcome', 'retry', 'progress', '{"n": 1}'::jsonb))"""
ABOUT_ONE: Mapping[str, LiteralString] = {
    "stop": "SELECT tenure.stop(%(job)s)",
    "pause": "SELECT tenure.stop(%(job)s, 'pause')",
    "force": "SELECT tenure.stop(%(job)s, force => true)",
    "finish": f"SELECT tenure.finish(%(worker)s, {ONE})",
    "crash": f"SELECT tenure.crash(%(worker)s, {ONE})",
    "release": f"SELECT tenure.release(%(worker)s, {ONE})",
    "report": f"SELECT tenure.report(%(worker)s, {ONE})",
    "look": "SELECT tenure.inspect(%(job)s)",
    "show": "SELECT tenure.show(%(job)s)",
    "explain": "SELECT tenure.explain(%(job)s)",
    "queue": "SELECT tenure.queue(%(aside)s)",
    "stop what waits": "SELECT tenure.stop(%(aside)s)",
    "promote": "SELECT tenure.queue(%(aside)s), tenure.promote()",
}


@pytest.mark.fresh_database
@pytest.mark.parametrize("verb", ABOUT_ONE)
def test_a_call_about_one_job_reads_that_and_not_all_that_runs_or_waits(
    store: Store, sql: psycopg.Connection, verb: str
) -> None:
    worker = worker_before_a_burst(store, sql)
    store.enqueue_many(NewJob(task="work"), [{}] * 1000)
    job = worker.claim(1000)[500]
    aside = store.enqueue_many(NewJob(task="work", run_at=NEVER), [{}] * 1000)[500]
    told = {"job": job.id, "token": job.token, "worker": worker.id, "aside": aside}
    assert read_by(sql, ABOUT_ONE[verb], told) < 100


@pytest.mark.fresh_database
@pytest.mark.parametrize("stopped", [False, True], ids=["at work", "being stopped"])
@pytest.mark.parametrize("analyzed", ["when empty", "when all ran", "afterwards"])
def test_the_end_of_a_child_reads_that_and_not_all_its_siblings(
    store: Store, sql: psycopg.Connection, analyzed: str, stopped: bool
) -> None:
    analyze = analyzing(sql, analyzed)
    parent = make_job(store, task=None)
    analyze("when empty")
    store.enqueue([NewJob(task="work", parent=parent) for _ in range(1000)])
    worker = make_worker(store)
    promote(store)
    *over, first, next_, last = worker.claim(1000)
    analyze("when all ran")
    store.finish(worker.id, [ending(job) for job in over])
    promote(store)
    if stopped:
        store.stop(parent)
    analyze("afterwards")
    worker.finish(first)
    promote(store)  # this one still passes all that has changed since the last
    worker.finish(next_)
    assert read_by(sql, "SELECT tenure.promote()") < 100
    assert store.show(parent).state == State.PENDING, "one is open"
    worker.finish(last)
    promote(store)
    assert store.show(parent).state == (State.CANCELLED if stopped else State.COMPLETED)


@pytest.mark.fresh_database
@pytest.mark.parametrize("analyzed", ["when empty", "when all ran", "afterwards"])
def test_the_end_of_a_dependency_reads_that_and_not_all_the_others(
    store: Store, sql: psycopg.Connection, analyzed: str
) -> None:
    analyze = analyzing(sql, analyzed)
    worker = make_worker(store)
    analyze("when empty")
    store.enqueue_many(NewJob(task="work"), [{}] * 3000)
    first, next_, *others, last = worker.claim(3000)
    late = make_job(store, after=[job.id for job in (first, next_, *others, last)])
    promote(store)
    analyze("when all ran")
    worker.finish(first)
    promote(store)
    analyze("afterwards")
    worker.finish(next_)
    assert read_by(sql, "SELECT tenure.promote()") < 100
    store.finish(worker.id, [ending(job) for job in others])
    promote(store)
    assert worker.claim() == (), "one is open"
    worker.finish(last)
    promote(store)
    assert worker.claim_one().id == late
