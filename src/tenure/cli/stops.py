"""A stop as it goes on: its steps, what it came to, and how the command ends."""

from collections.abc import Iterator
from datetime import timedelta

import typer
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from tenure.cli.connecting import Connection
from tenure.cli.printing import Printer, ago, clean, lasting
from tenure.cli.reading import length
from tenure.cli.steps import WORDS
from tenure.control.operation import Operation
from tenure.control.subscription import Subscription
from tenure.domain.cancellation import CancellationRecord, CancellationStatus, CancellationStep
from tenure.domain.duration import in_words
from tenure.domain.lifecycle import Intent
from tenure.domain.values import amount
from tenure.errors import JobNotEnded
from tenure.store.calls import queries

INTERRUPTED = 130  # as shells have it
NOT_CONFIRMED = 15


def carry_out(
    to: Connection,
    job: int,
    stop: Operation[CancellationRecord],
    *,
    wait: bool,
    timeout: str | None,
) -> None:
    """Ask for a stop and show it as it goes on; the command ends as the stop does."""
    limit = None if timeout is None else length(timeout, "--timeout")
    record = to.perform(stop)
    if not to.show.json:
        show_head(to, job, record)
    try:
        if wait:
            record = to.run(_closed(to, record, limit))
        else:
            _show_now(to, record)
    except KeyboardInterrupt:
        name = record.cancellation_id
        if not to.show.json:
            to.show.say(f"The stop goes on: {name}. See tenure job cancel-status {job}")
        raise typer.Exit(INTERRUPTED) from None
    if wait and record.completed_at is None:
        raise JobNotEnded(
            f"{record.cancellation_id} is {record.status} after {in_words(limit or timedelta())} "
            f"of waiting; it goes on"
        )
    if not to.show.json:
        show_end(to.show, record)
    if wait and record.status is not CancellationStatus.COMPLETED:
        raise typer.Exit(NOT_CONFIRMED)


def show_record(to: Connection, record: CancellationRecord) -> None:
    """A record as it stands."""
    show_head(to, record.job_id, record)
    _show_now(to, record)
    show_end(to.show, record)


def show_head(to: Connection, job: int, record: CancellationRecord) -> None:
    seen = to.send(queries.show(job))
    verb = "Pausing" if record.intent is Intent.PAUSE else "Cancelling"
    to.show.say(f"{verb} job: {seen.key or seen.id}")
    if record.task_id is not None and record.task_id != job:
        to.show.say(f"Task: {record.task_id}")
    to.show.say(f"Reason: {record.reason}")
    if record.again:
        to.show.say(f"Asked before: by {record.initiated_by}, {ago(record.initiated_at)}")
    to.show.say()
    to.show.say("Progress:")


def show_end(show: Printer, record: CancellationRecord) -> None:
    show.say()
    show.say("Summary:")
    for line in _summary(record):
        show.say(f"- {line}")
    if record.errors:
        show.say()
        show.say("Errors:")
        for error in record.errors:
            show.say(f"- {error}")
    show.say()
    show.say(f"Cancellation ID: {record.cancellation_id}")
    final = show.status(record.status, record.status.upper())
    show.say("Status: ", final, sep="")


def _show_now(to: Connection, record: CancellationRecord) -> None:
    if to.show.json:
        to.show.line(record)
        return
    for step in record.progress:
        to.show.say(*step_line(to.show, step, record), sep="")


async def _closed(
    to: Connection, record: CancellationRecord, limit: timedelta | None
) -> CancellationRecord:
    """Return the record when it is closed; show each change until then."""
    async with Subscription(to.client) as subscription:
        if not to.show.may_move:
            plain = _Plain(to)
            return await subscription.closed(to.tenant, record, limit, on_change=plain)
        with Live(console=to.show.console, refresh_per_second=8, redirect_stdout=False) as live:

            def draw(seen: CancellationRecord) -> None:
                live.update(Group(*(_drawn(to.show, step, seen) for step in seen.progress)))

            return await subscription.closed(to.tenant, record, limit, on_change=draw)


class _Plain:
    """Print the steps in their order, each when it is over; or the record at every change."""

    def __init__(self, to: Connection) -> None:
        self._to = to
        self._printed = 0

    def __call__(self, record: CancellationRecord) -> None:
        show = self._to.show
        if show.json:
            show.line(record)
            return
        for step in record.progress[self._printed :]:
            if step.status not in ("completed", "failed"):
                break
            show.say(*step_line(show, step, record), sep="")
            self._printed += 1


def _drawn(show: Printer, step: CancellationStep, record: CancellationRecord) -> Text | Spinner:
    if step.status == "in_progress":
        return Spinner("line" if show.is_ascii else "dots", _said(step, record))
    return Text.assemble(*step_line(show, step, record))


def step_line(show: Printer, step: CancellationStep, record: CancellationRecord) -> Iterator[Text]:
    match step.status:
        case "completed":
            yield Text(show.tick(True), "green")
        case "failed":
            yield Text(show.tick(False), "red")
        case _:
            yield Text("." if show.is_ascii else "·", "dim")
    yield Text(f" {_said(step, record)}", "" if step.status in ("completed", "failed") else "dim")
    if step.error:
        yield Text(f": {clean(step.error)}")


def _said(step: CancellationStep, record: CancellationRecord) -> str:
    """What a step has done, does, or could not do."""
    words = WORDS[step.step_name]
    if record.intent is Intent.PAUSE and step.step_name == "cancel_pending":
        words = words.of_a_pause()
    count = step.details.get(words.counted or "")
    if step.status == "completed":
        partials = step.details.get("partials")
        kept = f" and {amount(partials, 'partial result')}" if partials else ""
        return words.done(count) + kept
    if step.step_name == "terminate_runners":
        running = step.details.get("running", 0)
        if step.status == "failed":
            return words.undone(running - (count or 0))
        left = sum(it.ended_at is None and it.worker_id is not None for it in record.members)
        return words.doing(running) + (f", {left} left" if record.members else "")
    return words.undone(count) if step.status == "failed" else words.doing(count)


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
    yield f"Duration: {lasting(record.duration_seconds)}"
