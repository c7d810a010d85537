"""``tenure job watch``: a job as it goes on, until it is over."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import typer
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tenure.cli.connecting import Connection, connected
from tenure.cli.listing import how_far
from tenure.cli.naming import JobName
from tenure.cli.printing import clean, compact, lasting
from tenure.control.subscription import Subscription
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, State
from tenure.domain.values import nearest_float

INTERRUPTED = 130  # as shells have it
BAR = 40  # columns


@connected
def watch(to: Connection, job: JobName) -> None:
    """Follow a job until it is completed, failed or cancelled.

    Exit codes: 0 it is completed; 1 it failed or was cancelled. Ctrl-C ends the watching alone.
    """
    follow(to, to.job(job))


def follow(to: Connection, job: int) -> None:
    """Show a job as it goes on; the command ends as the job does."""
    try:
        last = to.run(_shown(to, job))
    except KeyboardInterrupt:
        if not to.show.json:
            to.show.say(f"Job {job} goes on.")
        raise typer.Exit(INTERRUPTED) from None
    if last is not None and not to.show.json:
        _tell_end(to, last)
    if last is None or last.state is not State.COMPLETED:
        raise typer.Exit(1)


async def _shown(to: Connection, job: int) -> Job | None:
    async with Subscription(to.client) as watching:
        jobs = watching.job(to.caller, job)
        if to.show.json:
            return await _as_lines(to, jobs)
        return await (_live(to, jobs) if to.show.may_move else _plainly(to, jobs))


async def _as_lines(to: Connection, jobs: AsyncIterator[Job]) -> Job | None:
    last = None
    async for job in jobs:
        to.show.line(job)
        last = job
    return last


async def _plainly(to: Connection, jobs: AsyncIterator[Job]) -> Job | None:
    last, said = None, ""
    async for job in jobs:
        line = " ".join(filter(None, [str(job.status), how_far(job.progress), _message(job)]))
        if line != said and job.state not in ENDED:
            to.show.say(f"{datetime.now(UTC):%H:%M:%S} {line}")
        last, said = job, line
    return last


async def _live(to: Connection, jobs: AsyncIterator[Job]) -> Job | None:
    last = None
    with Live(console=to.show.console, transient=True, redirect_stdout=False) as live:
        async for job in jobs:
            live.update(_line(to, job), refresh=True)
            last = job
    return last


def _line(to: Connection, job: Job) -> Table:
    line = Table.grid(padding=(0, 2, 0, 0))
    cells: list[Any] = [Text(f"Job {job.id}"), to.show.status(job.status)]
    match job.progress:
        case {"done": int() | float() as done, "total": int() | float() as total} if total > 0:
            cells += [
                ProgressBar(
                    total=nearest_float(total),
                    completed=nearest_float(done),
                    width=BAR,
                    complete_style="cyan",
                ),
                how_far(job.progress),
            ]
        case {"done": int() | float()}:
            cells.append(how_far(job.progress))
    line.add_row(*cells, Text(_message(job), "dim"))
    return line


def _message(job: Job) -> str:
    progress = job.progress if isinstance(job.progress, dict) else {}
    return clean(str(progress.get("message") or ""))


def _tell_end(to: Connection, job: Job) -> None:
    began, ended = job.started_at, job.completed_at
    took = f" after {lasting((ended - began).total_seconds())}" if began and ended else ""
    to.show.say(Text(f"Job {job.id} is "), to.show.status(job.status), Text(f"{took}."), sep="")
    if job.state is State.COMPLETED and job.result is not None:
        to.show.say(compact(job.result))
    if job.state is State.FAILED and job.error_message:
        to.show.say(job.error_message)
    if job.state is State.CANCELLED and job.cancellation_reason:
        to.show.say(f"{job.cancelled_by}: {job.cancellation_reason}")
