"""Workers and jobs in any state, made by the verbs themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import psycopg

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed, Finished
from tenure.store.store import Store

Outcome = Literal["completed", "failed", "retry", "stopped", "released"]


def announcement(name: str, **changes: Any) -> dict[str, Any]:
    """Return a task as a worker announces it; by default it declares nothing."""
    return {"name": name, "digest": "d1", "executor": "async", "defaults": {}, **changes}


def announce(url: str, *names: str) -> None:
    """Announce tasks that declare nothing, in every tenant of a database."""
    with Store(url) as store:
        store.announce_tasks([announcement(name) for name in names], everywhere=True)


@dataclass(frozen=True)
class Worker:
    """A registered worker, as its keeper would speak."""

    store: Store
    id: UUID

    def claim(self, n: int = 1, **options: Any) -> tuple[Claimed, ...]:
        return self.store.claim(self.id, n, **options).jobs

    def claim_one(self, **options: Any) -> Claimed:
        (job,) = self.claim(1, **options)
        return job

    def finish(self, job: Claimed, outcome: Outcome = "completed", **more: Any) -> Finished:
        return self.store.finish(self.id, [ending(job, outcome, **more)])

    def crash(self, *jobs: Claimed) -> Finished:
        return self.store.crash(self.id, [Ending(job=job.id, token=job.token) for job in jobs])

    def release(self, *jobs: Claimed, **more: Any) -> Finished:
        endings = [Ending(job=job.id, token=job.token, **more) for job in jobs]
        return self.store.release(self.id, endings)


def ending(job: Claimed, outcome: Outcome = "completed", **more: Any) -> Ending:
    return Ending(job=job.id, token=job.token, outcome=outcome, **more)


def make_worker(store: Store, lease: timedelta = timedelta(seconds=15), **more: Any) -> Worker:
    worker = uuid4()
    store.register(worker, "test-host", 1, lease, **more)
    return Worker(store, worker)


def make_job(store: Store, task: str | None = "work", **fields: Any) -> int:
    (job,) = store.enqueue(NewJob(task=task, **fields))
    return job.id


def make_jobs(store: Store, jobs: Sequence[NewJob]) -> Mapping[str, int]:
    """Enqueue a whole job; ids by key."""
    answers = store.enqueue(jobs)
    promote(store)
    return {answer.key: answer.id for answer in answers if answer.key is not None}


def promote(store: Store) -> None:
    """Promote until nothing is left to do."""
    for _ in range(100):
        done = store.promote()
        moved = (done.published, done.linked, done.due, done.targets, done.limits, done.closed)
        if not any(moved):
            return
    raise AssertionError("promote always finds something to do")


def set_back(sql: psycopg.Connection, by: timedelta) -> None:
    """Set the clock of a test back, as may happen to a server; `Clock` only goes forward."""
    done = sql.execute("UPDATE tenure_test.clock SET shift = shift - %s", (by,))
    assert done.rowcount == 1


def make_job_in(store: Store, state: State, **fields: Any) -> int:
    """A job that came to this state the ordinary way."""
    job = make_job(store, **fields)
    promote(store)
    if state is State.PENDING:
        return job
    if state is State.PAUSED:
        store.stop(job, intent=Intent.PAUSE)
        return job
    if state is State.CANCELLED:
        store.stop(job)
        return job
    worker = make_worker(store, timedelta(hours=1))
    claimed = worker.claim_one()
    assert claimed.id == job, "make_job_in wants an otherwise empty queue"
    if state is State.COMPLETED:
        worker.finish(claimed, value={"answer": 42})
    elif state is State.FAILED:
        worker.finish(claimed, "failed", error={"type": "ValueError", "message": "no"})
    return job


def end_as_stopped(worker: Worker, job: Claimed, rung: Rung = Rung.INTERRUPTED) -> Finished:
    return worker.finish(job, "stopped", rung=rung, heard=True)
