"""``tenure job resume``, ``clear``, ``rerun`` and ``queue``: what becomes of a job that stands."""

from typing import Annotated

import typer

from tenure.cli.bulk import Wait, rerun_where, resume_where
from tenure.cli.connecting import Connection, connected
from tenure.cli.listing import Where
from tenure.cli.naming import JobName, OneJob, Why, Yes, refuse_job, required_job
from tenure.cli.reading import moment, named_values
from tenure.control.job_operations import resume as resume_job
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, enqueue_calls


@connected
def resume(
    to: Connection,
    job: OneJob = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="From the beginning, without its checkpoint.")
    ] = False,
    budget: Annotated[
        list[str] | None,
        typer.Option(metavar="UNIT=LIMIT", help="A larger budget: tokens=50000; may be repeated."),
    ] = None,
    reason: Why = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Let a paused or failed job go on, from its checkpoint.

    With --where instead of a job, all jobs that match: they are counted first, and you are asked.
    """
    if where:
        refuse_job(job)
        if budget:
            raise InputRefused("--budget is for one job; leave it out, or name the job")
        resume_where(to, where, reason, fresh=fresh, yes=yes, wait=wait)
        return
    limits = named_values(budget) if budget else None
    seen = to.perform(resume_job(to.job(required_job(job)), reason, fresh=fresh, budget=limits))
    if to.show.json:
        to.show.document(seen)
        return
    to.show.say(f"Job {seen.id} goes on: it is ", to.show.status(seen.status), ".", sep="")


@connected
def clear(to: Connection, job: JobName, reason: Why = None) -> None:
    """Give up on a failed job: it is cancelled, and blocks its target no longer."""
    chosen = to.job(job)
    answer = to.send(control_calls.clear(chosen, reason=reason))
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"Job {chosen} is cleared.")


@connected
def rerun(
    to: Connection,
    job: OneJob = None,
    reason: Why = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Make a new job with the arguments and options of an old one, whatever became of that.

    With --where instead of a job, all jobs that match and have ended: they are counted first, and
    you are asked.
    """
    if where:
        refuse_job(job)
        rerun_where(to, where, reason, yes=yes, wait=wait)
        return
    chosen = to.job(required_job(job))
    new = to.send(control_calls.rerun(chosen, reason=reason))
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
    seen = to.send(enqueue_calls.queue(to.job(job), run_at=run_at))
    if to.show.json:
        to.show.document(seen)
        return
    to.show.say(f"Job {seen.id} is ", to.show.status(seen.status), ".", sep="")
