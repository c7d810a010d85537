"""``tenure job stack`` and ``tenure job runners``: what is seen of a job that runs."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.naming import JobName
from tenure.cli.printing import ago, bytes_of
from tenure.cli.reading import length
from tenure.control.inspection import PATIENCE, inspect
from tenure.store.calls import queries

Timeout = Annotated[str, typer.Option(metavar="TIME", help="How long to wait for its worker.")]


@connected
def stack(to: Connection, job: JobName, timeout: Timeout = PATIENCE) -> None:
    """Show where the code of a running job is, and what its processes take."""
    seen = to.perform(inspect(to.job(job), length(timeout, "--timeout")))
    if to.show.json:
        to.show.document(seen)
        return
    to.show.say(f"Job {seen.job_id}, seen {ago(seen.answered_at)}")
    for note in seen.notes:
        to.show.say(f"- {note}")
    for one in seen.stacks:
        to.show.say()
        to.show.say(one.name, style="bold")
        for line in str(one).splitlines():
            to.show.say(f"  {line}")
    to.show.say()
    to.show.table(
        ("pid", "name", "cpu", "memory", "state"),
        (
            (it.pid, it.name, f"{it.cpu_seconds:.1f}s", bytes_of(it.memory), it.state)
            for it in seen.processes
        ),
        "None of its processes could be seen.",
    )


@connected
def runners(to: Connection, job: JobName) -> None:
    """List the runners in which a job, or anything below it, runs."""
    listed = to.send(queries.runners(to.job(job)))
    if to.show.json:
        to.show.document(listed)
        return
    to.show.table(
        ("runner", "kind", "host", "pid", "jobs", "others", "as of"),
        (
            (
                f"{it.runner} (ending)" if it.ending else it.runner or "told at the next beat",
                it.kind,
                it.host,
                it.pid,
                ", ".join(map(str, it.jobs)),
                it.others,
                ago(it.as_of),
            )
            for it in listed
        ),
        "nothing of it runs",
    )
