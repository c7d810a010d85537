"""``tenure worker list``, ``drain`` and ``end-runner``."""

from typing import Annotated

import msgspec
import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.naming import Why
from tenure.cli.printing import ago
from tenure.cli.reading import length
from tenure.control.job_operations import end_runner as end
from tenure.domain.values import amount
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import queries, worker_calls
from tenure.store.results import WorkerInfo


@connected
def list_workers(
    to: Connection,
    everybody: Annotated[
        bool, typer.Option("--all", help="Also those that are dead or have left.")
    ] = False,
) -> None:
    """List workers, and how many jobs each of them holds."""
    workers = [_seen(to, it) for it in to.send(queries.workers(all=everybody))]
    if to.show.json:
        to.show.document(workers)
        return
    to.show.table(
        ("worker", "host", "pid", "status", "queues", "jobs", "beat", "started"),
        (
            (
                str(it.id)[:8],
                it.host,
                it.pid,
                to.show.status(it.status),
                "all" if it.queues is None else ", ".join(it.queues),
                len(it.jobs),
                ago(it.beat_at),
                ago(it.started_at),
            )
            for it in workers
        ),
        "no workers",
    )


@connected
def drain(
    to: Connection,
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="Its id, or how that begins.")],
    reason: Why = None,
) -> None:
    """Ask a worker to finish what runs, take nothing new, and leave."""
    chosen = _found(to, worker.lower())
    answer = to.shared.send(worker_calls.drain(chosen.id, reason=reason))
    if to.show.json:
        to.show.document(answer)
        return
    held = f"holds {amount(len(chosen.jobs), 'job') if chosen.jobs else 'no jobs'}"
    to.show.say(f"Worker {chosen.id} drains; it {held}.")


@connected
def end_runner(
    to: Connection,
    runner: Annotated[
        str, typer.Argument(metavar="RUNNER", help="Its id, from tenure job runners.")
    ],
    reason: Why = None,
    force: Annotated[
        bool, typer.Option("--force", help="Kill it at once, without a grace.")
    ] = False,
    grace: Annotated[
        str | None, typer.Option(metavar="TIME", help="From the request to the kill: 20s.")
    ] = None,
) -> None:
    """End a runner: a process in which a worker runs jobs.

    All jobs in it are stopped and given back, unspent, to go on elsewhere. None is cancelled.
    """
    within = None if grace is None else length(grace, "--grace")
    answer = to.perform(end(runner, reason, force=force, grace=within))
    if to.show.json:
        to.show.document(answer)
        return
    held = amount(len(answer.jobs), "job is", "jobs are") if answer.jobs else "no job is"
    to.show.say(f"Runner {runner} is being ended; {held} given back.")


def _seen(to: Connection, worker: WorkerInfo) -> WorkerInfo:
    """A token is of one tenant, and shows the jobs of that one."""
    if not to.has_token:
        return worker
    mine = tuple(job for job in worker.jobs if job.tenant == to.tenant.name)
    return msgspec.structs.replace(worker, jobs=mine)


def _found(to: Connection, start: str) -> WorkerInfo:
    found = [_seen(to, it) for it in to.send(queries.workers()) if str(it.id).startswith(start)]
    if not start or not found:
        raise NotFound(f"there is no living worker {start!r}; see tenure worker list")
    if len(found) > 1:
        raise InputRefused(f"{len(found)} workers begin with {start!r}; say more of its id")
    return found[0]
