"""``tenure recover``: take the jobs of dead workers back."""

from typing import Annotated, Any

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.enqueueing import load
from tenure.cli.printing import ago
from tenure.store.calls import queries, upkeep
from tenure.store.results import RecoveryResult

EXAMPLES = ("tenure recover --dry-run", "tenure recover 42 43", "tenure recover --app jobs:app")


@connected
def recover(
    to: Connection,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="JOB", help="Only these jobs, by id or key; else all."),
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(
            metavar="APP",
            envvar="TENURE_APP",
            show_envvar=False,
            help="Use the settings of this app: module:app (TENURE_APP).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
) -> None:
    """Declare workers dead whose lease is over, and take their jobs back.

    Every worker does this every few seconds; by hand it is for when none is left. How long
    a job may be without a worker, and the message of an orphan, are settings: of --app, or else
    from the environment.
    """
    if app:
        to.use(load(app))
    settings = to.client.settings
    answer = to.send(
        upkeep.recover(
            grace=settings.recover_grace,
            orphan_after=settings.orphan_after,
            pending_after=settings.pending_orphan_after,
            ids=None if not jobs else [to.send(queries.show(to.job(job))).id for job in jobs],
            dry_run=dry_run,
            message=settings.orphan_message,
        )
    )
    if to.show.json:
        to.show.document(answer)
        return
    if answer.blind_until is not None:
        again = ago(answer.blind_until)
        to.show.say(f"Nobody looked for a while; workers are declared dead {again}.")
    for it in answer.dead:
        to.show.say(
            f"Worker {it.worker_id} on {it.host} is dead; its last beat was {ago(it.beat_at)}."
        )
    to.show.table(("job", "became", "worker"), _rows(answer, dry_run), "nothing to recover")


def _rows(answer: RecoveryResult, dry_run: bool) -> list[tuple[Any, ...]]:
    became = "would be taken back" if dry_run else ""
    return [
        *((it.job, it.state or became, it.worker) for it in answer.recovered),
        *((job, "failed: nobody started it", None) for job in answer.stale),
        *((job, "busy; look again", None) for job in answer.busy),
        *((job, "could not be taken back", None) for job in answer.failed),
    ]
