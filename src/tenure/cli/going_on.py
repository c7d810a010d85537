"""``tenure job resume``, ``clear``, ``rerun`` and ``queue``: what becomes of a job that stands."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.naming import JobName, Why
from tenure.cli.reading import moment
from tenure.store.calls import controlling, enqueueing


@connected
def resume(
    to: Connection,
    job: JobName,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="From the beginning, without its checkpoint.")
    ] = False,
    reason: Why = None,
) -> None:
    """Let a paused or failed job go on, from its checkpoint."""
    seen = to.send(controlling.resume(to.job(job), fresh=fresh, reason=reason))
    if to.show.json:
        to.show.document(seen)
        return
    to.show.say(f"Job {seen.id} goes on: it is ", to.show.status(seen.status), ".", sep="")


@connected
def clear(to: Connection, job: JobName, reason: Why = None) -> None:
    """Give up on a failed job: it is cancelled, and blocks its target no longer."""
    chosen = to.job(job)
    answer = to.send(controlling.clear(chosen, reason=reason))
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"Job {chosen} is cleared.")


@connected
def rerun(to: Connection, job: JobName, reason: Why = None) -> None:
    """Make a new job with the arguments and options of an old one, whatever became of that."""
    chosen = to.job(job)
    new = to.send(controlling.rerun(chosen, reason=reason))
    if to.show.json:
        to.show.document(new)
        return
    to.show.say(f"Enqueued job {new.id}, which does again what job {chosen} did.")


@connected
def queue(
    to: Connection,
    job: JobName,
    at: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Not before: 2030-01-01T12:00Z.")
    ] = None,
) -> None:
    """Queue a job that was created but not queued."""
    run_at = None if at is None else moment(at, "--at")
    seen = to.send(enqueueing.queue(to.job(job), run_at=run_at))
    if to.show.json:
        to.show.document(seen)
        return
    to.show.say(f"Job {seen.id} is ", to.show.status(seen.status), ".", sep="")
