"""Jobs as ``TaskResult`` of Django."""

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from tenure.contrib.django.framework import InvalidTask, TaskError, TaskResult, TaskResultStatus
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import State
from tenure.errors import JobCancelled

_STATUSES = {
    State.PENDING: TaskResultStatus.READY,
    State.PAUSED: TaskResultStatus.READY,
    State.RUNNING: TaskResultStatus.RUNNING,
    State.COMPLETED: TaskResultStatus.SUCCESSFUL,
    State.FAILED: TaskResultStatus.FAILED,
    State.CANCELLED: TaskResultStatus.FAILED,
}
_UNRECORDED = "unrecorded"  # the worker of an attempt


def result_id(job: int, key: str | None) -> str:
    """Return the id of a result; a job that is enqueued after a commit is known by its key."""
    return key or str(job)


def new_result(
    task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], backend: str, name: str = ""
) -> TaskResult:
    """Return a result that is ready to run; arguments that JSON has not are a TypeError."""
    return TaskResult(
        task=task,
        id=name,
        status=TaskResultStatus.READY,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=list(args),
        kwargs=dict(kwargs),
        backend=backend,
        errors=[],
        worker_ids=[],
    )


def change(result: TaskResult, **fields: Any) -> None:
    """Change fields of a result; it is frozen for everybody else."""
    for name, value in fields.items():
        object.__setattr__(result, name, value)


def result_of(job: Job, task: Any, backend: str) -> TaskResult:
    """Return a job as the result of a task."""
    arguments: dict[str, Any] = job.args
    result = new_result(
        _as_enqueued(task, job, backend),
        arguments["args"],
        arguments["kwargs"],
        backend,
        result_id(job.id, job.key),
    )
    errors = [as_task_error(it["error"]) for it in job.attempts if it["error"]]
    if job.state is State.FAILED and job.error and not errors:
        errors = [
            as_task_error(job.error)
        ]  # it never ran: a job that it needs failed, for instance
    if job.state is State.CANCELLED:
        errors.append(_cancelled(job))
    began = [datetime.fromisoformat(it["started_at"]) for it in job.attempts]
    change(
        result,
        status=_STATUSES[job.state],
        enqueued_at=_time(job.created_at),
        started_at=_time(began[0] if began else job.started_at),
        last_attempted_at=_time(job.started_at),
        finished_at=_time(job.completed_at or job.cancelled_at),
        errors=errors,
        worker_ids=_workers(job),
    )
    if job.state is State.COMPLETED:
        change(result, _return_value=job.result)
    return result


def _workers(job: Job) -> list[str]:
    """Return the worker of each attempt; an attempt that completed at once is not recorded."""
    known = {it["attempt"]: str(it["worker_id"]) for it in job.attempts}
    if job.worker_id is not None:
        known[job.attempt] = job.worker_id
    return [known.get(number, _UNRECORDED) for number in range(1, job.attempt + 1)]


def as_task_error(error: Mapping[str, JSON]) -> TaskError:
    """Return an error as it is stored as one of Django, with the path of its class."""
    kind = str(error.get("type") or "")
    if "." not in kind:  # of Python itself, or of a job that ended without an exception
        home = "builtins" if hasattr(builtins, kind) else "tenure.errors"
        kind = f"{home}.{kind if home == 'builtins' else 'JobFailed'}"
    lines = error.get("traceback") or f"{error.get('type')}: {error.get('message')}\n"
    return TaskError(exception_class_path=kind, traceback=str(lines))


def _cancelled(job: Job) -> TaskError:
    error = JobCancelled(job.id, job.cancellation_reason, job.cancelled_by)
    path = f"{JobCancelled.__module__}.{JobCancelled.__qualname__}"
    return TaskError(exception_class_path=path, traceback=f"{path}: {error}\n")


def _as_enqueued(task: Any, job: Job, backend: str) -> Any:
    """Return the task with the options of the job, unless the backend takes them no longer."""
    try:
        return task.using(
            priority=job.priority,
            queue_name=job.queue,
            run_after=_time(job.run_at) if _is_due_later(job) else None,
            backend=backend,
        )
    except InvalidTask:
        return task


def _is_due_later(job: Job) -> bool:
    return job.run_at is not None and job.run_at > job.created_at and job.attempt == 0


def _time(at: datetime | None) -> datetime | None:
    return at if at is None or settings.USE_TZ else timezone.make_naive(at)
