"""``tenure recover``: take back the jobs of dead workers."""

from typing import Any

from tenure.cli.connection import Connection, connected, load_app
from tenure.cli.options import AppOption, argument, flag
from tenure.cli.output import ago
from tenure.store.calls import queries, upkeep
from tenure.store.upkeep_results import RecoveryResult

EXAMPLES = ("tenure recover --dry-run", "tenure recover 42 43", "tenure recover --app jobs:app")


@connected
def recover(
    to: Connection,
    jobs: list[str] | None = argument("JOB", "Only these jobs, by id or key.", None),
    app: AppOption = None,
    dry_run: bool = flag("--dry-run", "Show what would be done, and change nothing."),
) -> None:
    """Declare workers with an expired lease dead, and take back their jobs.

    Every worker does this every few seconds; run it by hand when no worker is left. How long
    a job may be without a worker, and the message of an orphan, are settings: those of --app, or
    of the environment.
    """
    if app:
        to.use(load_app(app))
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
    to.out.answer(answer, lambda answer: _print_recovery(to, answer, dry_run))


def _print_recovery(to: Connection, answer: RecoveryResult, dry_run: bool) -> None:
    if answer.blind_until is not None:
        again = ago(answer.blind_until)
        to.out.print(f"No recovery ran for a while; workers will be declared dead {again}.")
    for dead in answer.dead:
        to.out.print(
            f"Worker {dead.worker_id} on {dead.host} is dead; "
            f"its last heartbeat was {ago(dead.beat_at)}."
        )
    to.out.table(("job", "became", "worker"), _rows(answer, dry_run), "nothing to recover")


def _rows(answer: RecoveryResult, dry_run: bool) -> list[tuple[Any, ...]]:
    became = "would be taken back" if dry_run else ""
    return [
        *((it.job, it.state or became, it.worker) for it in answer.recovered),
        *((job, "failed: no worker started it", None) for job in answer.stale),
        *((job, "locked; try again", None) for job in answer.busy),
        *((job, "could not be taken back", None) for job in answer.failed),
    ]
