"""``tenure job list``: jobs, newest first."""

from typing import Any

from tenure.cli.completion import complete_queues, complete_statuses, complete_tasks
from tenure.cli.connection import Connection, connected
from tenure.cli.options import Below, Limit, Where, option
from tenure.cli.output import Printer, ago
from tenure.cli.parsing import filters, given, past
from tenure.domain.job import JSON, Job
from tenure.domain.values import nearest_float
from tenure.store.calls import queries


@connected
def list_jobs(
    to: Connection,
    status: list[str] | None = option(
        "STATUS",
        "Only jobs with this status: queued, running, ... Repeatable.",
        autocompletion=complete_statuses,
    ),
    queue: str | None = option("NAME", "Only jobs of this queue.", autocompletion=complete_queues),
    task: str | None = option("NAME", "Only jobs of this task.", autocompletion=complete_tasks),
    tag: list[str] | None = option("TAG", "Only jobs with this tag. Repeatable: all tags."),
    text: list[str] | None = option(
        "TEXT", "Only jobs with this text in their arguments. Repeatable."
    ),
    parent: str | None = option("JOB", "Only the children of this job."),
    since: str | None = option("TIME", "Enqueued since then: 2h (ago), 2030-01-01T12:00Z."),
    until: str | None = option("TIME", "Enqueued before then: 2h (ago), 2030-01-01T12:00Z."),
    where: Where = None,
    below: Below = None,
    limit: Limit = 20,
) -> None:
    """List jobs, newest first."""
    repeated = {"status": status, "tag": tag, "text": text}
    words = [f"{name}={value}" for name, values in repeated.items() for value in values or ()]
    wanted: dict[str, Any] = filters([*(where or ()), *words]) | given(
        {"queue": queue, "task": task}
    )
    if parent is not None:
        wanted["parent"] = to.job(parent)
    for name, time in (("since", since), ("until", until)):
        if time is not None:
            wanted[name] = past(time, f"--{name}")
    jobs = to.send(queries.list_jobs(wanted, below=below, n=limit))
    to.print_database()
    empty = "no matching jobs" if wanted or below is not None else "no jobs"
    to.out.answer(jobs, lambda jobs: print_jobs(to.out, jobs, empty))
    to.out.next_page(jobs, limit)


def print_jobs(out: Printer, jobs: tuple[Job, ...], empty: str) -> None:
    """Print a table of jobs, without the columns that are empty for all of them."""
    columns: dict[str, list[Any]] = {
        "job": [job.id for job in jobs],
        "key": [job.key for job in jobs],
        "task": [job.task or "" for job in jobs],
        "status": [out.status(job.status) for job in jobs],
        "queue": [job.queue if job.queue != "default" else None for job in jobs],
        "target": [job.target for job in jobs],
        "attempt": [f"{job.attempt} of {job.max_attempts}" if job.attempt else "" for job in jobs],
        "progress": [progress_text(job.progress) for job in jobs],
        "paused": [job.pause_reason for job in jobs],
        "owner": [job.owner for job in jobs],
        "enqueued": [ago(job.created_at) for job in jobs],
    }
    filled = {
        head: cells
        for head, cells in columns.items()
        if head == "task" or any(cell not in (None, "") for cell in cells)
    }
    out.table(tuple(filled), zip(*filled.values(), strict=True), empty)


def progress_text(progress: JSON) -> str:
    """Return the progress of a job in a few characters: 42%, or 3 where the total is unknown."""
    match progress:
        case {"done": int() | float() as done, "total": int() | float() as total} if total:
            return f"{min(nearest_float(done) / nearest_float(total), 1):.0%}"
        case {"done": int() | float() as done}:
            return f"{nearest_float(done):g}"
        case _:
            return ""
