"""The progress of a stop: its steps, its summary, and the exit code of the command."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import typer
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from tenure.cli.connection import Connection
from tenure.cli.output import Printer, ago, clean, duration_text
from tenure.cli.parsing import length
from tenure.control.operation import Operation
from tenure.control.subscription import Subscription
from tenure.domain.cancellation import CancellationRecord, CancellationStatus, CancellationStep
from tenure.domain.duration import in_words
from tenure.domain.lifecycle import Intent
from tenure.domain.values import amount
from tenure.errors import JobNotEnded
from tenure.store.calls import queries

INTERRUPTED = 130  # the code of a shell for Ctrl-C
NOT_CONFIRMED = 15


@dataclass(frozen=True)
class StepWords:
    """Describes a step of a stop: Terminated 3 runners, Terminating runners."""

    past: str
    present: str
    plain: str
    noun: str
    counted: str | None = None  # the detail that holds the number

    def done(self, count: Any) -> str:
        return f"{self.past} {self._nouns(count)}"

    def doing(self, count: Any) -> str:
        return f"{self.present} {self._nouns(count)}"

    def not_done(self, count: Any) -> str:
        return f"Could not {self.plain} {self._nouns(count)}"

    def for_pause(self) -> "StepWords":
        return replace(self, past="Paused", present="Pausing", plain="pause")

    def _nouns(self, count: Any) -> str:
        if self.counted is None:
            return self.noun
        nouns = self.noun if count == 1 else f"{self.noun}s"
        return nouns if count is None else f"{count} {nouns}"


_STEP_WORDS = {
    "stop_assignment": StepWords("Stopped", "Stopping", "stop", "task assignment"),
    "terminate_runners": StepWords("Terminated", "Terminating", "terminate", "runner", "runners"),
    "cancel_pending": StepWords("Cancelled", "Cancelling", "cancel", "pending task", "tasks"),
    "update_tasks": StepWords("Updated", "Updating", "update", "task states"),
    "release_slots": StepWords("Released", "Releasing", "release", "slot", "slots"),
    "preserve_artifacts": StepWords("Preserved", "Preserving", "preserve", "artifact", "artifacts"),
}


def carry_out(
    to: Connection,
    job: int,
    stop: Operation[CancellationRecord],
    *,
    wait: bool,
    timeout: str | None,
) -> None:
    """Request a stop and show its progress; exit with the code of its result."""
    limit = None if timeout is None else length(timeout, "--timeout")
    record = to.perform(stop)
    if not to.out.json:
        _print_head(to, job, record)
    try:
        if wait:
            record = to.run(_closed(to, record, limit))
        else:
            _print_now(to, record)
    except KeyboardInterrupt:
        name = record.cancellation_id
        if not to.out.json:
            to.out.print(f"The stop continues: {name}. See tenure job cancel-status {job}")
        raise typer.Exit(INTERRUPTED) from None
    if wait and record.completed_at is None:
        raise JobNotEnded(
            f"{record.cancellation_id} is {record.status} after {in_words(limit or timedelta())} "
            f"of waiting; it continues"
        )
    if not to.out.json:
        _print_end(to.out, record)
    if wait and record.status is not CancellationStatus.COMPLETED:
        raise typer.Exit(NOT_CONFIRMED)


def print_record(to: Connection, record: CancellationRecord) -> None:
    """Print a record as it is now."""
    _print_head(to, record.job_id, record)
    _print_now(to, record)
    _print_end(to.out, record)


def _print_head(to: Connection, job: int, record: CancellationRecord) -> None:
    seen = to.send(queries.show(job))
    verb = "Pausing" if record.intent is Intent.PAUSE else "Cancelling"
    to.out.print(f"{verb} job: {seen.key or seen.id}")
    if record.task_id is not None and record.task_id != job:
        to.out.print(f"Task: {record.task_id}")
    to.out.print(f"Reason: {record.reason}")
    if record.again:
        to.out.print(f"Already requested: by {record.initiated_by}, {ago(record.initiated_at)}")
    to.out.print()
    to.out.print("Progress:")


def _print_end(out: Printer, record: CancellationRecord) -> None:
    out.print()
    out.print("Summary:")
    for line in _summary(record):
        out.print(f"- {line}")
    if record.errors:
        out.print()
        out.print("Errors:")
        for error in record.errors:
            out.print(f"- {error}")
    out.print()
    out.print(f"Cancellation ID: {record.cancellation_id}")
    final = out.status(record.status, record.status.upper())
    out.print("Status: ", final, sep="")


def _print_now(to: Connection, record: CancellationRecord) -> None:
    if to.out.json:
        to.out.json_line(record)
        return
    for step in record.progress:
        to.out.print(*step_line(to.out, step, record), sep="")


async def _closed(
    to: Connection, record: CancellationRecord, limit: timedelta | None
) -> CancellationRecord:
    """Return the record when it is closed; show each change until then."""
    async with Subscription(to.client) as subscription:
        if not to.out.may_move:
            on_change = _StepLines(to)
            return await subscription.closed(to.tenant, record, limit, on_change=on_change)
        with Live(console=to.out.console, refresh_per_second=8, redirect_stdout=False) as live:

            def draw(seen: CancellationRecord) -> None:
                live.update(Group(*(_drawn(to.out, step, seen) for step in seen.progress)))

            return await subscription.closed(to.tenant, record, limit, on_change=draw)


class _StepLines:
    """Prints each step when it is done, in order; as JSON, the record at every change."""

    def __init__(self, to: Connection) -> None:
        self._out = to.out
        self._printed = 0

    def __call__(self, record: CancellationRecord) -> None:
        if self._out.json:
            self._out.json_line(record)
            return
        for step in record.progress[self._printed :]:
            if step.status not in ("completed", "failed"):
                break
            self._out.print(*step_line(self._out, step, record), sep="")
            self._printed += 1


def _drawn(out: Printer, step: CancellationStep, record: CancellationRecord) -> Text | Spinner:
    if step.status == "in_progress":
        return Spinner("line" if out.is_ascii else "dots", _describe(step, record))
    return Text.assemble(*step_line(out, step, record))


def step_line(out: Printer, step: CancellationStep, record: CancellationRecord) -> Iterator[Text]:
    match step.status:
        case "completed":
            yield Text(out.tick(True), "green")
        case "failed":
            yield Text(out.tick(False), "red")
        case _:
            yield Text("." if out.is_ascii else "·", "dim")
    yield Text(
        f" {_describe(step, record)}", "" if step.status in ("completed", "failed") else "dim"
    )
    if step.error:
        yield Text(f": {clean(step.error)}")


def _describe(step: CancellationStep, record: CancellationRecord) -> str:
    """Describe what a step has done, is doing, or could not do."""
    words = _STEP_WORDS[step.step_name]
    if record.intent is Intent.PAUSE and step.step_name == "cancel_pending":
        words = words.for_pause()
    count = step.details.get(words.counted or "")
    if step.status == "completed":
        partials = step.details.get("partials")
        kept = f" and {amount(partials, 'partial result')}" if partials else ""
        return words.done(count) + kept
    if step.step_name == "terminate_runners":
        running = step.details.get("running", 0)
        if step.status == "failed":
            return words.not_done(running - (count or 0))
        left = sum(it.ended_at is None and it.worker_id is not None for it in record.members)
        return words.doing(running) + (f", {left} left" if record.members else "")
    return words.not_done(count) if step.status == "failed" else words.doing(count)


def _summary(record: CancellationRecord) -> Iterator[str]:
    stopped = "paused" if record.intent is Intent.PAUSE else "cancelled"
    yield f"Job: {record.job_became or 'still stopping'}"
    yield f"Tasks completed: {len(record.tasks_completed)}"
    yield f"Tasks {stopped}: {len(record.tasks_cancelled)}"
    if record.tasks_open:
        yield f"Tasks not stopped: {len(record.tasks_open)}"
    yield f"Runners terminated: {len(record.runners_terminated)}"
    if ended := {rung: n for rung, n in record.attempts_ended.items() if n}:
        by_rung = ", ".join(f"{n} {rung}" for rung, n in ended.items())
        yield f"Attempts ended: {sum(ended.values())} ({by_rung})"
    yield f"Duration: {duration_text(record.duration_seconds)}"
