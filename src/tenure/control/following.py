"""Following a job to its end, and bringing the end about: the steps behind a handle."""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict, TypeVar

from tenure.control.steps import Pause, Steps
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import duration, in_words
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import ENDED, Intent
from tenure.domain.task import LastRung, Length, read_last_rung, read_length
from tenure.errors import (
    InputRefused,
    JobFailed,
    JobNotEnded,
    JobNotFound,
    SettingInvalid,
    StoreUnavailable,
    TenureError,
)
from tenure.observe import tracing
from tenure.store.call import Call
from tenure.store.calls import controlling, looking

T = TypeVar("T")

PAGE = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5  # seconds between two looks

log = logging.getLogger("tenure")


class StopOptions(TypedDict, total=False):
    """How a job is stopped. What is not said is as the strategy says, if one is named."""

    strategy: str | None  # a set of these with a name
    force: bool | None  # kill it at once
    grace: Length | None  # from now to the kill
    ask_for: Length | None  # of the grace, before it is interrupted
    last_rung: LastRung | None  # the furthest it may go
    by: str | None  # who asks; nobody: the database role
    wait: bool  # until everything has stopped
    timeout: Length | None  # of that wait


class CancelOptions(StopOptions, total=False):
    cascade: bool | None  # also what comes after it
    rollback: bool | None  # undo what its tasks had completed, newest first
    rollback_tasks: Sequence[int] | None  # undo only these
    preserve: bool | None  # keep the artifacts; else those of what is cancelled go


def ended(job: int, timeout: Length | None) -> Steps[Job]:
    """Look at a job until it is completed, failed or cancelled."""

    def said(seen: Job) -> str | None:
        return None if seen.state in ENDED else f"job {job} has not ended; it is {seen.status}"

    return (yield from _until(looking.show(job), said, timeout))


def stop(
    job: int,
    intent: Intent,
    reason: str | None,
    *,
    strategy: str | None = None,
    cascade: bool | None = None,
    rollback: bool | None = None,
    rollback_tasks: Sequence[int] | None = None,
    preserve: bool | None = None,
    force: bool | None = None,
    grace: Length | None = None,
    ask_for: Length | None = None,
    last_rung: LastRung | None = None,
    by: str | None = None,
    wait: bool = False,
    timeout: Length | None = None,
) -> Steps[CancellationRecord]:
    """Ask for a stop, and look at its record until it is closed if that is wanted."""
    try:
        length, asking = read_length("grace", grace), read_length("ask_for", ask_for)
        furthest = None if last_rung is None else read_last_rung("last_rung", last_rung)
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    with tracing.stopping(job, intent, (yield from _trace_of(job))) as span:
        record: CancellationRecord = yield controlling.stop(
            job,
            intent=intent,
            reason=reason,
            strategy=strategy,
            force=force,
            cascade=cascade,
            rollback=rollback,
            rollback_tasks=rollback_tasks,
            preserve=preserve,
            grace=length,
            ask_for=asking,
            last_rung=furthest,
            by=by,
        )
        span.tell(cancellation=record.cancellation_id)
    if not wait:
        return record

    def said(seen: CancellationRecord) -> str | None:
        open_still = f"{seen.cancellation_id} of job {job} is {seen.status}"
        return None if seen.completed_at is not None else open_still

    return (yield from _until(looking.cancellation(record.cancellation_id), said, timeout))


def partials(job: int) -> Steps[list[JSON]]:
    values: list[JSON] = []
    above = 0
    while True:
        page: tuple[dict[str, Any], ...] = yield looking.kept(job, "partials", above=above, n=PAGE)
        values += [partial["value"] for partial in page]
        if len(page) < PAGE:
            return values
        above = page[-1]["id"]


def children(job: int) -> Steps[list[int]]:
    ids: list[int] = []
    while True:
        below = ids[-1] if ids else None
        page: tuple[Job, ...] = yield looking.list_jobs({"parent": job}, below=below, n=PAGE)
        ids += [child.id for child in page]
        if len(page) < PAGE:
            return ids[::-1]


def job_with_key(key: str) -> Steps[int]:
    """The id of the job with this key that is not over, else of the newest that is."""
    found: tuple[Job, ...] = yield looking.list_jobs({"key": key}, n=PAGE)
    if not found:
        raise JobNotFound(f"there is no job with the key {key!r}")
    live = [job for job in found if job.state not in ENDED]
    if len(live) > 1:
        raise InputRefused(
            f"more than one job that is not over has the key {key!r}; name it by its id"
        )
    return (live or found)[0].id


def failure(job: Job) -> JobFailed:
    """A failed job as an error to raise."""
    error = job.error if isinstance(job.error, dict) else {}
    return JobFailed(
        job.id,
        str(error.get("type") or "Unknown"),
        str(error.get("message") or job.error_message or "nothing is known of why"),
        error.get("traceback"),
    )


def _trace_of(job: int) -> Steps[object]:
    """The trace in which a job was enqueued, for programs that trace what they do to it."""
    if not tracing.is_on():
        return None
    try:
        seen: Job = yield looking.show(job)
    except TenureError:
        return None  # the stop itself will say what is wrong
    return seen.options.get(tracing.TRACE) if isinstance(seen.options, dict) else None


def _until(call: Call[T], said: Any, timeout: Length | None) -> Steps[T]:
    """Ask again until nothing is said against the answer.

    Once it was answered, a database that goes away is waited for.
    """
    limit = None if timeout is None else duration(timeout)
    start, pause = time.monotonic(), FIRST_PAUSE
    complaint: str | None = None
    while True:
        try:
            answer: T = yield call
            complaint = said(answer)
            if complaint is None:
                return answer
        except StoreUnavailable as error:
            if complaint is None:
                raise
            log.warning("still waiting: %s", error)
        left = LONGEST_PAUSE if limit is None else _left(start, limit)
        if left <= 0:
            assert limit is not None
            raise JobNotEnded(f"{complaint} after {in_words(limit)} of waiting")
        yield Pause(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _left(start: float, limit: timedelta) -> float:
    return start + limit.total_seconds() - time.monotonic()
