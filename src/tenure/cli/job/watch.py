"""``tenure job watch``: follow a job until it ends."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import typer
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tenure.cli.connection import Connection, connected
from tenure.cli.job.list import progress_text
from tenure.cli.job.stop_progress import INTERRUPTED
from tenure.cli.options import JobName
from tenure.cli.output import clean, duration_text, shown_result
from tenure.control.subscription import Subscription
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, State
from tenure.domain.values import nearest_float

BAR = 40  # columns


@connected
def watch(to: Connection, job: JobName) -> None:
    """Follow a job until it is completed, failed or cancelled.

    Exit codes: 0 the job completed; 1 it failed or was cancelled. Ctrl-C ends the watching, not the
    job.
    """
    follow(to, to.job(job))


def follow(to: Connection, job: int) -> None:
    """Show the progress of a job until it ends; exit with 1 unless it completes."""
    try:
        last = to.run(_shown(to, job))
    except KeyboardInterrupt:
        if not to.out.json:
            to.out.print(f"Job {job} continues.")
        raise typer.Exit(INTERRUPTED) from None
    if last is not None and not to.out.json:
        _print_end(to, last)
    if last is None or last.state is not State.COMPLETED:
        raise typer.Exit(1)


async def _shown(to: Connection, job: int) -> Job | None:
    async with Subscription(to.client) as subscription:
        jobs = subscription.job(to.caller, job)
        if to.out.json:
            return await _as_lines(to, jobs)
        return await (_live(to, jobs) if to.out.may_move else _plainly(to, jobs))


async def _as_lines(to: Connection, jobs: AsyncIterator[Job]) -> Job | None:
    last = None
    async for job in jobs:
        to.out.json_line(job)
        last = job
    return last


async def _plainly(to: Connection, jobs: AsyncIterator[Job]) -> Job | None:
    last, printed = None, ""
    async for job in jobs:
        line = " ".join(filter(None, [str(job.status), progress_text(job.progress), _message(job)]))
        if line != printed and job.state not in ENDED:
            to.out.print(f"{datetime.now(UTC):%H:%M:%S} {line}")
        last, printed = job, line
    return last


async def _live(to: Connection, jobs: AsyncIterator[Job]) -> Job | None:
    last = None
    with Live(console=to.out.console, transient=True, redirect_stdout=False) as live:
        async for job in jobs:
            live.update(_line(to, job), refresh=True)
            last = job
    return last


def _line(to: Connection, job: Job) -> Table:
    line = Table.grid(padding=(0, 2, 0, 0))
    cells: list[Any] = [Text(f"Job {job.id}"), to.out.status(job.status)]
    match job.progress:
        case {"done": int() | float() as done, "total": int() | float() as total} if total > 0:
            cells += [
                ProgressBar(
                    total=nearest_float(total),
                    completed=nearest_float(done),
                    width=BAR,
                    complete_style="cyan",
                ),
                progress_text(job.progress),
            ]
        case {"done": int() | float()}:
            cells.append(progress_text(job.progress))
    line.add_row(*cells, Text(_message(job), "dim"))
    return line


def _message(job: Job) -> str:
    progress = job.progress if isinstance(job.progress, dict) else {}
    return clean(str(progress.get("message") or ""))


def _print_end(to: Connection, job: Job) -> None:
    began, ended = job.started_at, job.completed_at
    took = f" after {duration_text((ended - began).total_seconds())}" if began and ended else ""
    verb = "has" if job.status == "failed" else "is"
    to.out.print(Text(f"Job {job.id} {verb} "), to.out.status(job.status), Text(f"{took}."), sep="")
    if job.state is State.COMPLETED and (result := shown_result(job)) is not None:
        to.out.print(result)
    if job.state is State.FAILED and job.error_message:
        to.out.print(job.error_message)
    if job.state is State.CANCELLED and job.cancellation_reason:
        to.out.print(f"{job.cancelled_by}: {job.cancellation_reason}")
