"""``tenure audit``: who did what, to what, through what, and why."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.listing import refuse_limit
from tenure.cli.printing import ago
from tenure.errors import InputRefused
from tenure.store.calls import queries

EXAMPLES = (
    "tenure audit",
    "tenure audit --job 42",
    "tenure audit --subject queue --name crawl --json",
)


@connected
def audit(
    to: Connection,
    job: Annotated[
        str | None, typer.Option(metavar="JOB", help="Only what was done to this job.")
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Only what was done to a job, queue, target, pool, worker, ..."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what was done to this one of them.")
    ] = None,
    below: Annotated[
        int | None, typer.Option(metavar="ID", help="Only rows with a lower id: the next page.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="The most to show; 20 else.")] = 20,
) -> None:
    """Show what was done from outside, newest first; refusals too."""
    refuse_limit(limit)
    if job is not None:
        if subject is not None or name is not None:
            raise InputRefused("--job says what it is about; leave out --subject and --name")
        subject, name = "job", str(to.job(job))
    rows = to.send(queries.audit_log(subject, name, below=below, n=limit))
    if to.show.json:
        to.show.document(rows)
        return
    to.show.table(
        ("id", "when", "who", "through", "did", "to", "reason"),
        (
            (
                it.id,
                ago(it.at),
                it.actor,
                it.via,
                it.verb,
                f"{it.subject} {it.name}".strip(),
                it.reason,
            )
            for it in rows
        ),
        "nothing on record",
    )
    if len(rows) == limit:
        to.show.say(f"older ones: --below {rows[-1].id}", style="dim")
