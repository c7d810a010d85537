"""The operations on one job: wait for it, stop it, resume it, read what it left."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar, Unpack

from tenure.control.operation import Delay, Operation
from tenure.domain.bounds import MAX_ARGS_BYTES
from tenure.domain.budget import Amount
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import ENDED, Intent
from tenure.domain.options import read_budget, read_duration
from tenure.domain.stop_options import StopOptions, read_stop_options
from tenure.domain.values import shown
from tenure.errors import (
    InputRefused,
    JobFailed,
    JobNotEnded,
    StoreUnavailable,
    TenureError,
)
from tenure.observe import tracing
from tenure.store.call import Call
from tenure.store.calls import control_calls, queries
from tenure.store.new_jobs import encode_bounded
from tenure.store.results import Found, JobRunner, RunnerEnding

T = TypeVar("T")

PAGE = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5  # seconds between two polls
EASE = 2  # the pause after a poll is at least this many times its duration

log = logging.getLogger("tenure")


class StopArguments(StopOptions, total=False):
    """Options of a stop through a handle."""

    by: str | None  # who asks; left out: the database role
    wait: bool  # until everything has stopped
    timeout: Duration | None  # of that wait; the stop continues


def ended(job: int, timeout: Duration | None) -> Operation[Job]:
    """Return a job when it is completed, failed or cancelled."""

    def problem(seen: Job) -> str | None:
        return None if seen.state in ENDED else f"job {job} has not ended; it is {seen.status}"

    return (yield from _until(queries.show(job), problem, timeout))


def resume(
    job: int,
    reason: str | None,
    *,
    fresh: bool = False,
    budget: Mapping[str, Amount] | None = None,
    value: JSON = None,
    by: str | None = None,
) -> Operation[Job]:
    """Resume a paused or failed job, with a larger budget and a value if they are given."""
    limits = read_budget("budget", budget)
    carried = None
    if value is not None:
        carried = encode_bounded(value, "the value of the resume", MAX_ARGS_BYTES).decode()
    resumed: Job = yield control_calls.resume(
        job, fresh=fresh, reason=reason, budget=limits, value=carried, by=by
    )
    return resumed


def stop(
    job: int,
    intent: Intent,
    reason: str | None,
    *,
    by: str | None = None,
    wait: bool = False,
    timeout: Duration | None = None,
    **options: Unpack[StopOptions],
) -> Operation[CancellationRecord]:
    """Request a stop; with ``wait`` return its record when it is closed."""
    request = control_calls.stop(
        job, intent=intent, reason=reason, by=by, **read_stop_options(options)
    )
    with tracing.stopping(job, intent, (yield from _trace_of(job))) as span:
        record: CancellationRecord = yield request
        span.tell(cancellation=record.cancellation_id)
    if not wait:
        return record

    def problem(seen: CancellationRecord) -> str | None:
        is_open = f"{seen.cancellation_id} of job {job} is {seen.status}"
        return None if seen.completed_at is not None else is_open

    return (yield from _until(queries.cancellation(record.cancellation_id), problem, timeout))


def runners(job: int) -> Operation[tuple[JobRunner, ...]]:
    """Return the runners in which a job or anything below it runs."""
    listed: tuple[JobRunner, ...] = yield queries.runners(job)
    return listed


def end_runner(
    runner: str,
    reason: str | None = None,
    *,
    force: bool = False,
    grace: Duration | None = None,
    by: str | None = None,
) -> Operation[RunnerEnding]:
    """End a runner; its jobs are released without spending an attempt."""
    if not isinstance(runner, str):
        raise InputRefused(f"a runner is named by its id, a str, not {shown(runner)}")
    within = read_duration("grace", grace)
    ending: RunnerEnding = yield control_calls.end_runner(
        runner, reason=reason, force=force, grace=within, by=by
    )
    return ending


def partials(job: int) -> Operation[list[JSON]]:
    """Return the partial results of a job, oldest first."""
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
    """Return the ids of the children of a job, oldest first."""
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
    """Return the error to raise for a failed job."""
    error = job.error if isinstance(job.error, dict) else {}
    return JobFailed(
        job.id,
        str(error.get("type") or "Unknown"),
        str(error.get("message") or job.error_message or "the reason is unknown"),
        error.get("traceback"),
    )


def _trace_of(job: int) -> Operation[object]:
    """Return the trace in which a job was enqueued, if this program traces."""
    if not tracing.is_on():
        return None
    try:
        seen: Job = yield queries.show(job)
    except TenureError:
        return None  # the stop itself reports what is wrong
    return seen.options.get(tracing.TRACE) if isinstance(seen.options, dict) else None


def _until(
    call: Call[T], problem: Callable[[T], str | None], timeout: Duration | None
) -> Operation[T]:
    """Repeat a call until there is no problem with its answer.

    An outage of the database after the first answer is waited out.
    """
    limit = None if timeout is None else duration(timeout)
    start, pause = time.monotonic(), FIRST_PAUSE
    found: str | None = None
    while True:
        asked_at = time.monotonic()
        try:
            answer: T = yield call
            found = problem(answer)
            if found is None:
                return answer
        except StoreUnavailable as error:
            if found is None:
                raise
            log.warning("still waiting: %s", error)
        left = LONGEST_PAUSE if limit is None else _left(start, limit)
        if left <= 0:
            assert limit is not None
            raise JobNotEnded(f"{found} after {in_words(limit)} of waiting")
        yield Delay(min(max(pause, (time.monotonic() - asked_at) * EASE), left))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _left(start: float, limit: timedelta) -> float:
    return start + limit.total_seconds() - time.monotonic()
