"""The stop strip: what a stop has done to a job, what it is doing, and what comes next.

It shows only what is on record: a missing timestamp is never invented.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from tenure.config import Settings
from tenure.domain.cancellation import (
    CancellationMember,
    CancellationRecord,
    CancellationStep,
    StopSummary,
)
from tenure.domain.duration import duration
from tenure.domain.job import Job
from tenure.domain.lifecycle import Rung, State
from tenure.domain.values import amount
from tenure.store.results import AuditRow
from tenure.web.dashboard.formatting import timestamp

Mark = Literal["done", "now", "ahead", "skipped", "wrong"]

_TERMINATE_BEFORE = timedelta(seconds=5)  # the kill, at most; see docs/stopping.md
_RUNGS = {
    Rung.INTERRUPTED: ("Interrupted", "the code is interrupted, even in a blocking call"),
    Rung.TERMINATED: ("SIGTERM", "SIGTERM to the processes it has started"),
    Rung.KILLED: ("SIGKILL", "SIGKILL to its runner and all its processes"),
}
_SILENT = (
    "Its worker has not answered yet. If it stays silent, its lease ends and another worker "
    "ends the job,"
)


@dataclass(frozen=True)
class Cell:
    name: str
    mark: Mark
    text: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class Next:
    """The next step, if the code is still running then."""

    text: str
    at: datetime


def strip(stop: StopSummary, job: Job, settings: Settings) -> tuple[Cell, ...]:
    """Return the steps of a stop in the order of their times; those without one stay in place."""
    cells = list(_cells(stop, job, settings))
    keys, latest = [], stop.record.initiated_at
    for cell in cells:
        latest = cell.at or latest
        keys.append(latest)
    return tuple(
        cell for _, cell in sorted(zip(keys, cells, strict=True), key=lambda each: each[0])
    )


def next_of(stop: StopSummary, job: Job, settings: Settings) -> Next | None:
    """Return the next step; none if the code has ended, or if nothing more may be done."""
    record, member = stop.record, subject(stop, job)
    if member is None or member.ended_at is not None or member.was is not State.RUNNING:
        return None
    reached, last = _rungs_of(member), _last_rung(record, job, settings)
    if not reached:
        return Next(_SILENT, job.lease_expires_at) if job.lease_expires_at else None
    for rung, at in _plan(record, job, settings):
        if rung not in reached and rung <= last:
            which = "it is" if member.job_id == job.id else "any of them is"
            return Next(f"Next, if {which} still running: {_RUNGS[rung][1]},", at)
    return None


def subject(stop: StopSummary, job: Job) -> CancellationMember | None:
    """Return what the strip of a job is about: the whole stop if the job is what was stopped."""
    record = stop.record
    if job.id == (record.task_id or record.job_id) and stop.members > 1:
        return stop.whole
    return member_of(record, job.id)


def member_of(record: CancellationRecord, job: int) -> CancellationMember | None:
    return next((member for member in record.members if member.job_id == job), None)


@dataclass(frozen=True)
class Resumption:
    """A resume of a job after its stop had ended."""

    by: AuditRow | None  # none: it was resumed with a job above it


def resumption(
    record: CancellationRecord, job: Job, audit_log: Sequence[AuditRow]
) -> Resumption | None:
    """Return the resume that ended the effect of a stop, if there was one."""
    member, closed = member_of(record, job.id), record.completed_at
    if member is None or closed is None or member.became not in (State.PAUSED, State.FAILED):
        return None
    resumed = [row for row in audit_log if row.verb == "resume" and row.at >= closed]
    if not resumed and job.state in (member.became, State.CANCELLED):
        return None
    return Resumption(min(resumed, key=lambda row: row.at, default=None))


def marks(record: CancellationRecord, job: int) -> Mapping[str, datetime]:
    """Return the rungs that a job has reached, with their times."""
    member = member_of(record, job)
    return {} if member is None else _rungs_of(member)


def _rungs_of(member: CancellationMember) -> Mapping[str, datetime]:
    return {rung: member.reached[rung] for rung in Rung if rung in member.reached}


def _cells(stop: StopSummary, job: Job, settings: Settings) -> Iterator[Cell]:
    record, member = stop.record, subject(stop, job)
    yield _requested(record)
    if member is not None and member.was is State.RUNNING:
        yield _delivered(member)
        yield from _rungs(record, job, member, settings)
    if member is not None:
        yield from _cleanup(member)
        yield _gone(member)
    yield _closed(record)


def kept(stop: StopSummary) -> Iterator[Cell]:
    """Yield what the stop released and what it kept."""
    slots = stop.record.slots_released
    yield _counted(stop.record, "release_slots", "Slots released", slots, stop.slots)
    yield _preserved(stop)


def _requested(record: CancellationRecord) -> Cell:
    how = " by force" if record.force else ""
    text = f"{record.intent}{how} requested by {record.initiated_by}: {record.reason}"
    return Cell("Requested", "done", text, record.initiated_at)


def _delivered(member: CancellationMember) -> Cell:
    if (delivered := member.reached.get("delivered")) is not None:
        return Cell("Delivered", "done", "its worker has received it", delivered)
    if member.ended_at is not None:
        if member.rung is Rung.EXPIRED:
            return Cell("Delivered", "skipped", "its worker was lost before it could answer")
        return Cell("Delivered", "done", "its worker has received it")
    return Cell(
        "Delivered", "now", "its worker receives it in milliseconds, or with its next heartbeat"
    )


def _asked(member: CancellationMember) -> Cell:
    at = member.reached.get(Rung.ASKED)
    if member.rung is Rung.ASKED:
        return Cell("Asked", "done", "it stopped when it was asked", at)
    if at is not None:
        return Cell("Asked", "done", "its code was asked to stop", at)
    if member.ended_at is None:
        return Cell("Asked", "ahead", "its code is asked to stop")
    return Cell("Asked", "skipped", "its code could not be asked")


def _rungs(
    record: CancellationRecord, job: Job, member: CancellationMember, settings: Settings
) -> Iterator[Cell]:
    reached, last = _rungs_of(member), _last_rung(record, job, settings)
    yield _asked(member)
    planned = dict(_plan(record, job, settings))
    highest = max(map(Rung, reached), default=None)
    for rung, (name, text) in _RUNGS.items():
        if rung in reached:
            is_tried = rung == highest and member.ended_at is None
            yield Cell(name, "now" if is_tried else "done", text, reached[rung])
        elif member.rung is not None and rung <= member.rung and member.rung is not Rung.EXPIRED:
            yield Cell(name, "done", text)
        elif member.ended_at is not None:
            yield Cell(name, "skipped", "was not needed")
        elif rung > last:
            yield Cell(name, "skipped", f"the last rung of this stop is {last}")
        else:
            # Unknown until its worker has received the stop.
            yield Cell(name, "ahead", text, planned[rung] if reached else None)


def _cleanup(member: CancellationMember) -> Iterator[Cell]:
    report: Any = member.cleanup
    if not isinstance(report, dict):
        return
    failed = [
        failure.get("name") if isinstance(failure, dict) else failure
        for failure in report.get("failed") or ()
    ]
    lines = [
        *(f"{name} was closed" for name in report.get("graceful_close_succeeded") or ()),
        *(f"{name} was closed by force" for name in report.get("force_closed") or ()),
        *(f"{name} could not be closed" for name in failed),
    ]
    if lines:
        at = timestamp(report.get("cleanup_completed_at"))
        yield Cell("Cleaned up", "wrong" if failed else "done", "; ".join(lines), at)


def _gone(member: CancellationMember) -> Cell:
    if member.ended_at is None:
        return Cell("Gone", "ahead", "when none of its code is running")
    if member.was is not State.RUNNING:
        return Cell("Gone", "done", "it was not running", member.ended_at)
    if member.rung is Rung.EXPIRED:
        text = "its worker was lost and its lease expired; another worker ended the job"
    else:
        where = f" ({member.runner})" if member.runner else ""
        text = f"none of {'its' if member.job_id else 'their'} code is running{where}"
    return Cell("Gone", "done", text + _tree(member), member.ended_at)


def _tree(member: CancellationMember) -> str:
    """Return the processes that ended with a job, as text."""
    if not member.pids:
        return ""
    more = (member.processes or 0) - len(member.pids)
    pids = ", ".join(map(str, member.pids)) + (f" and {more} more" if more > 0 else "")
    return f"; its process tree is gone: {'pid' if len(member.pids) == 1 else 'pids'} {pids}"


def _counted(
    record: CancellationRecord, step_name: str, name: str, names: tuple[str, ...], n: int
) -> Cell:
    step = _step(record, step_name)
    text = ", ".join(names) + (f" and {n - len(names):,} more" if n > len(names) else "")
    if step is None or step.status in ("pending", "in_progress"):
        return Cell(name, "ahead", text)
    if step.status == "failed":
        return Cell(name, "wrong", step.error or text)
    return Cell(name, "done", text, step.completed_at)


def _preserved(stop: StopSummary) -> Cell:
    record, partials = stop.record, stop.record.partials_preserved
    results = (amount(partials, "partial result"),) if partials else ()
    names = (*results, *record.artifacts_preserved)
    return _counted(record, "preserve_artifacts", "Preserved", names, stop.artifacts + len(results))


def _closed(record: CancellationRecord) -> Cell:
    if record.completed_at is None:
        return Cell("Closed", "ahead", record.cancellation_id)
    text = f"{record.cancellation_id} is {record.status}"
    if record.errors:
        return Cell("Closed", "wrong", f"{text}: {record.errors[0]}", record.completed_at)
    return Cell("Closed", "done", text, record.completed_at)


def _plan(
    record: CancellationRecord, job: Job, settings: Settings
) -> Iterator[tuple[Rung, datetime]]:
    """Yield each rung with the time at which it is due."""
    grace = (
        timedelta(0) if record.force else _duration(record.grace, job, "grace", settings.stop_grace)
    )
    asking = min(_duration(record.ask_for, job, "ask_for", settings.ask_for), grace)
    begin = record.initiated_at
    yield Rung.INTERRUPTED, begin + asking
    yield Rung.TERMINATED, begin + grace - min(_TERMINATE_BEFORE, (grace - asking) / 2)
    yield Rung.KILLED, begin + grace


def _duration(of_stop: float | None, job: Job, name: str, default: timedelta) -> timedelta:
    if of_stop is not None:
        return timedelta(seconds=of_stop)
    options: Any = job.options or {}
    return duration(options[name]) if options.get(name) is not None else default


def _last_rung(record: CancellationRecord, job: Job, settings: Settings) -> Rung:
    if record.force:
        return record.last_rung
    options: Any = job.options or {}
    return min(record.last_rung, Rung(options.get("last_rung") or settings.last_rung))


def _step(record: CancellationRecord, name: str) -> CancellationStep | None:
    return next((step for step in record.progress if step.step_name == name), None)
