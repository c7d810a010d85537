"""The planner's orphans fail with their message, however found; its documents are accurate."""

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from examples.schedule_planner import planner
from examples.schedule_planner.model import Job, JobStatus, session_on
from examples.schedule_planner.planner import ORPHAN_MESSAGE
from sqlalchemy import func, or_, select

from tenure.config import Settings
from tenure.domain.duration import in_words
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.examples import snippets
from tests.factories import make_worker
from tests.workers import Watcher

APP = "examples.schedule_planner.planner:app"
RECONCILER = """\
# Detectar jobs RUNNING com heartbeat ausente ou antigo (> 2 min)
orphan_threshold = timedelta(minutes=2)
running_orphans = session.exec(
    select(Job).where(
        Job.status == JobStatus.RUNNING,
        or_(
            Job.last_heartbeat_at.is_(None),  # Worker antigo sem heartbeat
            Job.last_heartbeat_at < (now - orphan_threshold)
        ),
        Job.started_at < (now - orphan_threshold)  # Segurança: não pegar jobs recém-iniciados
    )
).all()

for job in running_orphans:
    job.status = JobStatus.FAILED
    job.error_message = "orphan: job RUNNING sem heartbeat; worker provavelmente morreu"
    job.completed_at = now
"""
LONG_SILENT = """
    UPDATE tenure.worker SET beat_at = now() - interval '3 minutes',
        expires_at = now() - interval '1 minute'
"""
OLD_WORKER = "DELETE FROM tenure.worker"
LONG_RUNNING = "UPDATE tenure.job SET started_at = now() - interval '3 minutes'"

pytestmark = pytest.mark.usefixtures("planner_database")


@pytest.fixture
def running_job(store: Store) -> int:
    """Return a running job whose worker has just sent a heartbeat."""
    job = planner.hold.enqueue(60.0).id
    make_worker(store, timedelta(minutes=2)).claim_one()
    store.sweep()  # the fleet keeps looking for dead workers
    return job


def run_the_snippet(url: str, before_commit: Callable[[], object] = lambda: None) -> None:
    with session_on(url) as session:
        names = {"session": session, "select": select, "or_": or_, "timedelta": timedelta}
        now = session.exec(select(func.now())).one()
        asyncio.run(snippets.run(RECONCILER, **names, Job=Job, JobStatus=JobStatus, now=now))
        before_commit()
        session.commit()


def run_the_task(_: str) -> None:
    planner.reconcile_orphan_jobs()


@pytest.mark.parametrize("reconcile", [run_the_snippet, run_the_task], ids=["snippet", "task"])
@pytest.mark.parametrize("death", [LONG_SILENT, OLD_WORKER], ids=["silent", "without heartbeat"])
def test_an_orphan_is_failed_with_the_message(
    reconcile: Callable[[str], None],
    death: str,
    running_job: int,
    store: Store,
    sql: psycopg.Connection,
    database: str,
) -> None:
    sql.execute(LONG_RUNNING)
    sql.execute(death.encode())
    reconcile(database)
    job = store.show(running_job)
    assert (job.state, job.error_message) == (State.FAILED, ORPHAN_MESSAGE)
    assert job.completed_at is not None
    assert job.attempt == 1  # it is not retried


@pytest.mark.parametrize("reconcile", [run_the_snippet, run_the_task], ids=["snippet", "task"])
@pytest.mark.parametrize("state", [LONG_RUNNING, OLD_WORKER], ids=["beating", "just started"])
def test_a_job_that_is_no_orphan_continues(
    reconcile: Callable[[str], None],
    state: str,
    running_job: int,
    store: Store,
    sql: psycopg.Connection,
    database: str,
) -> None:
    sql.execute(state.encode())
    reconcile(database)
    assert store.show(running_job).state is State.RUNNING


def test_a_worker_that_beats_before_the_commit_keeps_its_job(
    running_job: int, store: Store, sql: psycopg.Connection, database: str
) -> None:
    sql.execute(LONG_RUNNING)
    sql.execute(LONG_SILENT)

    def beat() -> None:
        [worker] = store.workers()
        assert store.renew(worker.id).alive

    run_the_snippet(database, beat)
    assert store.show(running_job).state is State.RUNNING


def test_a_pending_job_that_nobody_starts_is_an_orphan(
    store: Store, sql: psycopg.Connection
) -> None:
    old, new = planner.hold.enqueue(1.0).id, planner.hold.enqueue(1.0).id
    sql.execute("UPDATE tenure.job SET run_at = now() - interval '2 hours' WHERE id = %s", (old,))
    assert planner.reconcile_orphan_jobs() == {"running": [], "pending": [old]}
    assert store.show(old).state is State.FAILED
    assert store.show(new).state is State.PENDING


def test_the_workers_look_for_pending_orphans_too(worker_of: Any, store: Store) -> None:
    job = planner.hold.enqueue(1.0)
    with worker_of(APP, "--queues", "files", TENURE_PENDING_ORPHAN_AFTER="3s"):
        Watcher(store).becomes(job.id, State.FAILED)
    assert str(job.job().error_message).startswith("orphan: ")


def test_an_orphan_of_a_killed_worker_fails_and_can_be_resumed(
    worker_of: Any, store: Store
) -> None:
    with worker_of(APP) as worker:
        job = planner.hold.enqueue(60.0)
        Watcher(store).becomes(job.id, State.RUNNING)
        started = job.job().started_at
        for process in worker.tree:
            process.kill()
    with worker_of(APP, "--queues", "files"):
        Watcher(store).becomes(job.id, State.FAILED, within=30)
    orphan = job.job()
    assert orphan.error_message == ORPHAN_MESSAGE
    assert orphan.started_at == started
    assert orphan.completed_at is not None
    assert orphan.attempt == 1  # it was not retried
    job.resume("looked at it")
    assert job.status() == "queued"


def test_the_cron_comes_every_five_minutes() -> None:
    [schedule] = planner.app.schedules.values()
    assert (schedule.task, schedule.cron) == ("reconcile_orphan_jobs", "*/5 * * * *")


def test_the_figures_of_the_documents_are_the_planners() -> None:
    rule = Settings.from_environment(planner.ORPHANS)
    stack = (Path(planner.__file__).parent / "STACK.md").read_text()
    said = dict(re.findall(r"^\| [^|]+ \| `TENURE_(\w+)` \| ([^|]+) \|", stack, re.MULTILINE))
    assert said == {
        "BEAT": in_words(rule.beat),
        "LEASE": in_words(rule.lease),
        "ORPHAN_AFTER": in_words(rule.orphan_after),
        "PENDING_ORPHAN_AFTER": in_words(rule.pending_orphan_after or timedelta()),
        "RECOVER_EVERY": in_words(rule.recover_every),
        "ON_ORPHAN": rule.on_orphan,
    }
    directives = (Path(planner.__file__).parent / "DIRECTIVES.md").read_text()
    assert ORPHAN_MESSAGE in directives
