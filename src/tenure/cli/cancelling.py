"""``tenure job cancel`` and ``tenure job pause``, and what is on record of stops."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tenure.cli import stops
from tenure.cli.bulk import stop_where
from tenure.cli.connecting import Connection, connected
from tenure.cli.listing import Where, refuse_limit
from tenure.cli.naming import JobName, OneJob, Why, Yes, refuse_job, required_job
from tenure.cli.printing import ago, lasting
from tenure.cli.reading import length, moment, whole
from tenure.control.cancellation import refuse_stranger
from tenure.control.job_operations import stop
from tenure.control.policies import stop_at
from tenure.domain.lifecycle import Intent
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, queries

Force = Annotated[bool, typer.Option("--force", help="Kill it at once.")]
Grace = Annotated[str | None, typer.Option(metavar="LENGTH", help="From now to the kill: 10s, 2m.")]
Strategy = Annotated[
    str | None, typer.Option(metavar="NAME", help="A named way to stop; see tenure strategy list.")
]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Until everything has stopped, or not.")
]
Timeout = Annotated[
    str | None, typer.Option(metavar="LENGTH", help="Wait no longer; the stop goes on.")
]


@connected
def cancel(
    to: Connection,
    job: OneJob = None,
    reason: Why = None,
    force: Force = False,
    task: Annotated[
        str | None, typer.Option(metavar="JOB", help="Only this task of the job, by id or key.")
    ] = None,
    cascade: Annotated[
        bool | None,
        typer.Option("--cascade/--no-cascade", help="Also what comes after it, or not."),
    ] = None,
    grace: Grace = None,
    strategy: Strategy = None,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Undo what its tasks had completed.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="Not now but then, if it is not over: 2030-01-01T12:00Z."
        ),
    ] = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
    timeout: Timeout = None,
) -> None:
    """Stop a job for good, with all its tasks, and wait until everything has stopped.

    With --where instead of a job, all jobs that match: they are counted first, and you are asked.
    With --at it is a policy, which takes --reason and --strategy.

    Exit codes: 0 stopped; 10 there is no such job; 11 it is over already; 12 it is not yours;
    14 it takes longer than --timeout; 15 something could not be confirmed.
    """
    how: dict[str, Any] = {
        "reason": reason,
        "force": force or None,
        "cascade": cascade,
        "grace": None if grace is None else length(grace, "--grace"),
        "strategy": strategy,
        "rollback": rollback or None,
    }
    if where:
        if job is not None or task is not None or at is not None:
            raise InputRefused("--where chooses jobs, now; leave out the job, --task and --at")
        stop_where(to, Intent.CANCEL, where, how, yes=yes, wait=wait)
        return
    chosen = to.job(required_job(job))
    member = chosen if task is None else to.job(task)
    if member != chosen:
        to.perform(refuse_stranger(member, chosen))
    if at is not None:
        _cancel_at(to, member, at, how)
        return
    stops.carry_out(to, chosen, stop(member, Intent.CANCEL, **how), wait=wait, timeout=timeout)


def _cancel_at(to: Connection, job: int, at: str, how: Mapping[str, Any]) -> None:
    if any(it is not None for name, it in how.items() if name not in ("reason", "strategy")):
        raise InputRefused(
            "a stop at a time takes --reason and --strategy; a strategy has the rest"
        )
    when = moment(at, "--at")
    policy = to.perform(stop_at(job, when, reason=how["reason"], strategy=how["strategy"]))
    if to.show.json:
        to.show.document(policy)
        return
    to.show.say(f"Job {job} is cancelled {ago(when)}, if it is not over.")
    to.show.say(f"To call it off: tenure policy drop {policy.name}", style="dim")


@connected
def pause(
    to: Connection,
    job: OneJob = None,
    reason: Why = None,
    force: Force = False,
    grace: Grace = None,
    strategy: Strategy = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
    timeout: Timeout = None,
) -> None:
    """Stop a job so that it can go on later, from its checkpoint.

    With --where instead of a job, all jobs that match: they are counted first, and you are asked.

    Exit codes: as those of tenure job cancel.
    """
    how: dict[str, Any] = {
        "reason": reason,
        "force": force or None,
        "grace": None if grace is None else length(grace, "--grace"),
        "strategy": strategy,
    }
    if where:
        refuse_job(job)
        stop_where(to, Intent.PAUSE, where, how, yes=yes, wait=wait)
        return
    chosen = to.job(required_job(job))
    stops.carry_out(to, chosen, stop(chosen, Intent.PAUSE, **how), wait=wait, timeout=timeout)


@connected
def cancel_status(to: Connection, job: JobName) -> None:
    """Show how far the latest stop of a job has come."""
    record = to.send(queries.cancellation(job=to.job(job)))
    if to.show.json:
        to.show.document(record)
        return
    stops.show_record(to, record)


@connected
def cancellations(
    to: Connection,
    limit: Annotated[int, typer.Option(metavar="N", help="The most to show; 10 else.")] = 10,
    offset: Annotated[int, typer.Option(metavar="N", help="Leave out so many.")] = 0,
) -> None:
    """List stops, newest first."""
    refuse_limit(limit)
    if offset < 0:
        raise InputRefused(f"--offset takes 0 or more, not {offset}")
    records = to.send(queries.cancellations(limit, offset))
    if to.show.json:
        to.show.document(records)
        return
    to.show.table(
        ("cancellation", "job", "status", "stopped", "took", "by", "reason", "asked"),
        (
            (
                it.cancellation_id,
                it.job_id if it.task_id is None else f"{it.job_id}/{it.task_id}",
                to.show.status(it.status),
                len(it.tasks_cancelled),
                lasting(it.duration_seconds),
                it.initiated_by,
                it.reason,
                ago(it.initiated_at),
            )
            for it in records
        ),
        "no cancellations",
    )


@connected
def rollback(
    to: Connection,
    cancellation: Annotated[
        str, typer.Argument(metavar="CANCELLATION", help="Its id, such as cancel-000001.")
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this task; may be said again."),
    ] = None,
    reason: Why = None,
) -> None:
    """Undo what the tasks of a cancelled job had completed, newest first."""
    tasks = [whole(one, "a task") for one in task or ()] or None
    answer = to.send(control_calls.rollback(cancellation, tasks, reason=reason))
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"Job {answer['job']} rolls it back.")
