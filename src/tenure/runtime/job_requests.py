"""Requests of running jobs to the database, for keepers and for the sandbox of tests.

Jobs have no password: these calls are sent for them, and only for what belongs to the job that
asks.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from tenure.control.operation import Operation, single
from tenure.domain.job import JSON, ROLLBACK, Job, NewJob
from tenure.domain.lifecycle import ENDED
from tenure.errors import InputRefused
from tenure.store.calls import enqueue_calls, queries, step_calls, worker_calls
from tenure.store.results import Claimed, CompletedTask, Enqueued

ENQUEUE = ("spawn", "undo")  # requests that enqueue a job


def answer(worker: UUID, job: Claimed, name: str, arguments: Any) -> Operation[Any]:
    """Return the answer to a request of a job that needs nothing but the database."""
    match name:
        case "spawn":
            return spawn(job, arguments)
        case "undo":
            return undo(job, arguments)
        case "children":
            return children(arguments)
        case "completed":
            return completed(worker, job)
        case "steps":  # what earlier attempts of this job have kept
            return single(step_calls.kept_steps(worker, job.id, job.token))
        case "wait":  # begin a wait, or tell how it ended
            return single(step_calls.await_step(worker, job.id, job.token, arguments))
        case _:
            raise InputRefused(f"there is no request {name}")


def spawn(job: Claimed, arguments: tuple[str, bytes]) -> Operation[int]:
    """Return a child job; a later attempt that asks at the same position gets the same one."""
    position, draft = arguments
    return _enqueue_child(job, draft, f"spawn:{job.id}:{position}")


def undo(job: Claimed, arguments: tuple[int, bytes]) -> Operation[int]:
    """Return the job that undoes another; the same one for every rollback that asks."""
    if job.task != ROLLBACK:
        raise InputRefused("only a rollback undoes other jobs")
    undone, draft = arguments
    return _enqueue_child(job, draft, f"undo:{int(undone)}")


def _enqueue_child(job: Claimed, draft: bytes, key: str) -> Operation[int]:
    child = msgspec.convert({**msgspec.json.decode(draft), "parent": job.id}, NewJob, strict=False)
    [enqueued] = yield from _reserved(job, child, None if child.idempotency else key)
    return enqueued.id


def children(arguments: Sequence[int]) -> Operation[list[Any] | None]:
    """Return the children when all have ended; None until then."""
    jobs: list[Job] = []
    for child in arguments:
        jobs.append((yield queries.show(child)))  # noqa: PERF401 - a comprehension cannot yield
    if any(child.state not in ENDED for child in jobs):
        return None
    return [msgspec.to_builtins(child) for child in jobs]


def completed(worker: UUID, job: Claimed) -> Operation[list[Any]]:
    """Return what a rollback undoes; nobody else may read it, because it contains secrets."""
    tasks: tuple[CompletedTask, ...] = yield worker_calls.completed(worker, job.id, job.token)
    return [msgspec.to_builtins(task) for task in tasks]


def cleanup(job: Claimed, task: str, args: Mapping[str, JSON]) -> Operation[None]:
    """Enqueue a job that closes a resource which could not be closed."""
    wanted = NewJob(task=task, args=args, queue=job.queue, owner=job.owner, max_attempts=20)
    about = hashlib.sha256(msgspec.json.encode(args, order="sorted")).hexdigest()
    yield from _reserved(job, wanted, f"cleanup:{job.id}:{job.token}:{task}:{about}")


def _reserved(job: Claimed, wanted: NewJob, key: str | None) -> Operation[tuple[Enqueued, ...]]:
    answer: tuple[Enqueued, ...] = yield enqueue_calls.enqueue_reserved(
        wanted, idempotency=key, by=f"job:{job.id}", via="worker"
    )
    return answer
