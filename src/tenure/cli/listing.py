"""``tenure job list``: jobs, newest first."""

from typing import Annotated, Any

import typer

from tenure.cli.completing import complete_queues, complete_statuses, complete_tasks
from tenure.cli.connecting import Connection, connected
from tenure.cli.printing import Printer, ago
from tenure.cli.reading import filters, given, past
from tenure.domain.job import JSON, Job
from tenure.domain.values import nearest_float
from tenure.errors import InputRefused
from tenure.store.calls import queries

MOST = 1000  # on a page

Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Only these: status=, state=, queue=, task=, target=, owner=, tag=, key=, parent=, "
        "root=, worker=, text=; may be said again.",
    ),
]


@connected
def list_jobs(
    to: Connection,
    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS",
            help="Only jobs that are queued, running, ...; may be repeated.",
            autocompletion=complete_statuses,
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only jobs of this queue.", autocompletion=complete_queues
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only jobs of this task function.", autocompletion=complete_tasks
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Only jobs with this tag; repeated: with all of them."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Only jobs with this in their arguments; repeated: all of them."
        ),
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="JOB", help="Only the tasks of this job.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Enqueued since then: 2h, or 2030-01-01T12:00Z."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Enqueued before then, likewise.")
    ] = None,
    where: Where = None,
    below: Annotated[
        int | None, typer.Option(metavar="ID", help="Only jobs with a lower id: the next page.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="The most to show; 20 else.")] = 20,
) -> None:
    """List jobs, newest first."""
    refuse_limit(limit)
    several = {"status": status, "tag": tag, "text": text}
    words = [f"{name}={value}" for name, values in several.items() for value in values or ()]
    wanted: dict[str, Any] = filters([*(where or ()), *words]) | given(
        {"queue": queue, "task": task}
    )
    if parent is not None:
        wanted["parent"] = to.job(parent)
    for name, said in (("since", since), ("until", until)):
        if said is not None:
            wanted[name] = past(said, f"--{name}")
    jobs = to.send(queries.list_jobs(wanted, below=below, n=limit))
    to.tell_database()
    if to.show.json:
        to.show.document(jobs)
        return
    show_jobs(to.show, jobs, "no jobs" if not wanted and below is None else "no such jobs")
    if len(jobs) == limit:
        to.show.say(f"older ones: --below {jobs[-1].id}", style="dim")


def show_jobs(show: Printer, jobs: tuple[Job, ...], empty: str) -> None:
    """A table with the columns that say something about any of these jobs."""
    columns: dict[str, list[Any]] = {
        "job": [job.id for job in jobs],
        "key": [job.key for job in jobs],
        "task": [job.task or "" for job in jobs],
        "status": [show.status(job.status) for job in jobs],
        "queue": [job.queue if job.queue != "default" else None for job in jobs],
        "target": [job.target for job in jobs],
        "attempt": [f"{job.attempt} of {job.max_attempts}" if job.attempt else "" for job in jobs],
        "progress": [how_far(job.progress) for job in jobs],
        "owner": [job.owner for job in jobs],
        "enqueued": [ago(job.created_at) for job in jobs],
    }
    said = {
        head: cells
        for head, cells in columns.items()
        if head == "task" or any(cell not in (None, "") for cell in cells)
    }
    show.table(tuple(said), zip(*said.values(), strict=True), empty)


def how_far(progress: JSON) -> str:
    """The progress of a job in a few characters: 42%, 3 of 10, or what it says itself."""
    match progress:
        case {"done": int() | float() as done, "total": int() | float() as total} if total:
            return f"{min(nearest_float(done) / nearest_float(total), 1):.0%}"
        case {"done": int() | float() as done}:
            return f"{nearest_float(done):g}"
        case _:
            return ""


def refuse_limit(limit: int) -> None:
    if not 1 <= limit <= MOST:
        raise InputRefused(f"--limit takes from 1 to {MOST}, not {limit}")
