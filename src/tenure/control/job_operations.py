"""Following a job to its end, and bringing the end about: the steps behind a handle."""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict, TypeVar

from tenure.control.operation import Delay, Operation
from tenure.domain.budget import Amount
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import duration, in_words
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import ENDED, Intent
from tenure.domain.task import LastRung, Length, read_budget, read_last_rung, read_length
from tenure.domain.values import shown
from tenure.errors import (
    InputRefused,
    JobFailed,
    JobNotEnded,
    SettingInvalid,
    StoreUnavailable,
    TenureError,
)
from tenure.observe import tracing
from tenure.store.call import Call
from tenure.store.calls import control_calls, queries
from tenure.store.results import Found, JobRunner, RunnerEnding

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


def ended(job: int, timeout: Length | None) -> Operation[Job]:
    """Look at a job until it is completed, failed or cancelled."""

    def said(seen: Job) -> str | None:
        return None if seen.state in ENDED else f"job {job} has not ended; it is {seen.status}"

    return (yield from _until(queries.show(job), said, timeout))


def resume(
    job: int,
    reason: str | None,
    *,
    fresh: bool = False,
    budget: Mapping[str, Amount] | None = None,
    by: str | None = None,
) -> Operation[Job]:
    """Let a paused or failed job go on, with a larger budget if one is given."""
    try:
        limits = read_budget("budget", budget)
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    resumed: Job = yield control_calls.resume(job, fresh=fresh, reason=reason, budget=limits, by=by)
    return resumed


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
) -> Operation[CancellationRecord]:
    """Ask for a stop, and look at its record until it is closed if that is wanted."""
    try:
        length, asking = read_length("grace", grace), read_length("ask_for", ask_for)
        furthest = None if last_rung is None else read_last_rung("last_rung", last_rung)
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    with tracing.stopping(job, intent, (yield from _trace_of(job))) as span:
        record: CancellationRecord = yield control_calls.stop(
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

    return (yield from _until(queries.cancellation(record.cancellation_id), said, timeout))


def runners(job: int) -> Operation[tuple[JobRunner, ...]]:
    """Return the runners in which a job or anything below it runs."""
    listed: tuple[JobRunner, ...] = yield queries.runners(job)
    return listed


def end_runner(
    runner: str,
    reason: str | None = None,
    *,
    force: bool = False,
    grace: Length | None = None,
    by: str | None = None,
) -> Operation[RunnerEnding]:
    """End a runner; all jobs in it are given back, unspent."""
    if not isinstance(runner, str):
        raise InputRefused(f"a runner is named by its id, a str, not {shown(runner)}")
    try:
        length = read_length("grace", grace)
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    asked: RunnerEnding = yield control_calls.end_runner(
        runner, reason=reason, force=force, grace=length, by=by
    )
    return asked


def partials(job: int) -> Operation[list[JSON]]:
    values: list[JSON] = []
    above = 0
    while True:
        page: tuple[dict[str, Any], ...] = yield queries.job_output(
            job, "partials", above=above, n=PAGE
        )
        values += [partial["value"] for partial in page]
        if len(page) < PAGE:
            return values
        above = page[-1]["id"]


def children(job: int) -> Operation[list[int]]:
    ids: list[int] = []
    while True:
        below = ids[-1] if ids else None
        page: tuple[Job, ...] = yield queries.list_jobs({"parent": job}, below=below, n=PAGE)
        ids += [child.id for child in page]
        if len(page) < PAGE:
            return ids[::-1]


def job_with_key(key: str) -> Operation[int]:
    """Return the id of the job with this key: of the caller's own before those of others."""
    found: Found = yield queries.job_with_key(key)
    return found.id


def failure(job: Job) -> JobFailed:
    """A failed job as an error to raise."""
    error = job.error if isinstance(job.error, dict) else {}
    return JobFailed(
        job.id,
        str(error.get("type") or "Unknown"),
        str(error.get("message") or job.error_message or "nothing is known of why"),
        error.get("traceback"),
    )


def _trace_of(job: int) -> Operation[object]:
    """The trace in which a job was enqueued, for programs that trace what they do to it."""
    if not tracing.is_on():
        return None
    try:
        seen: Job = yield queries.show(job)
    except TenureError:
        return None  # the stop itself will say what is wrong
    return seen.options.get(tracing.TRACE) if isinstance(seen.options, dict) else None


def _until(call: Call[T], said: Any, timeout: Length | None) -> Operation[T]:
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
        yield Delay(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _left(start: float, limit: timedelta) -> float:
    return start + limit.total_seconds() - time.monotonic()
