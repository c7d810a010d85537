"""``tenure job cancel`` and ``pause``, and the records of stops."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tenure.cli.connection import Connection, connected
from tenure.cli.job.bulk import change_many, filter_of_many
from tenure.cli.job.stop_progress import carry_out, print_record
from tenure.cli.options import (
    Force,
    Grace,
    JobName,
    Jobs,
    Limit,
    Reason,
    StrategyOption,
    Wait,
    Where,
    Yes,
    argument,
    flag,
    option,
    require_job,
)
from tenure.cli.output import ago, duration_text
from tenure.cli.parsing import length, point_in_time, whole
from tenure.control.cancellation import refuse_stranger
from tenure.control.job_operations import stop
from tenure.control.policies import stop_at
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, queries

Timeout = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Maximum time to wait; the stop continues.")
]


@connected
def cancel(
    to: Connection,
    jobs: Jobs = None,
    reason: Reason = None,
    force: Force = False,
    task: str | None = option("JOB", "Only this child of the job, by id or key."),
    cascade: bool | None = flag(
        "--cascade/--no-cascade", "Also cancel jobs that depend on it, or not.", default=None
    ),
    grace: Grace = None,
    strategy: StrategyOption = None,
    rollback: bool = flag("--rollback", "Undo the work of its completed children."),
    at: str | None = option("TIME", "Cancel it later, unless it has finished: 2030-01-01T12:00Z."),
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
    timeout: Timeout = None,
) -> None:
    """Cancel a job with all its children, and wait until everything has stopped.

    With several jobs, or with --where instead of a job, cancel them all, after counting them and
    asking for confirmation. With --at, set a policy, which takes --reason and --strategy.

    Exit codes: 0 stopped; 10 there is no such job; 11 the job has already finished; 12 it is not
    yours; 14 it takes longer than --timeout; 15 part of the stop could not be confirmed.
    """
    how: dict[str, Any] = {
        "reason": reason,
        "force": force or None,
        "cascade": cascade,
        "grace": None if grace is None else length(grace, "--grace"),
        "strategy": strategy,
        "rollback": rollback or None,
    }
    if (many := filter_of_many(to, jobs, where)) is not None:
        if task is not None or at is not None:
            raise InputRefused("--task and --at are for one job; leave them out, or name one job")
        change_many(to, BulkIntent.CANCEL, many, yes=yes, wait=wait, **how)
        return
    chosen = to.job(require_job(jobs))
    member = chosen if task is None else to.job(task)
    if member != chosen:
        to.perform(refuse_stranger(member, chosen))
    if at is not None:
        _cancel_at(to, member, at, how)
        return
    carry_out(to, chosen, stop(member, Intent.CANCEL, **how), wait=wait, timeout=timeout)


def _cancel_at(to: Connection, job: int, at: str, how: Mapping[str, Any]) -> None:
    if any(value is not None for name, value in how.items() if name not in ("reason", "strategy")):
        raise InputRefused(
            "--at takes --reason and --strategy; put other stop options into a strategy"
        )
    when = point_in_time(at, "--at")
    policy = to.perform(stop_at(job, when, reason=how["reason"], strategy=how["strategy"]))
    to.out.answer(
        policy,
        f"Job {job} will be cancelled {ago(when)}, unless it has finished.\n"
        f"To undo this: tenure policy drop {policy.name}",
    )


@connected
def pause(
    to: Connection,
    jobs: Jobs = None,
    reason: Reason = None,
    force: Force = False,
    grace: Grace = None,
    strategy: StrategyOption = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
    timeout: Timeout = None,
) -> None:
    """Pause a job, to be resumed later from its checkpoint.

    With several jobs, or with --where instead of a job, pause them all, after counting them and
    asking for confirmation.

    Exit codes: those of tenure job cancel.
    """
    how: dict[str, Any] = {
        "reason": reason,
        "force": force or None,
        "grace": None if grace is None else length(grace, "--grace"),
        "strategy": strategy,
    }
    if (many := filter_of_many(to, jobs, where)) is not None:
        change_many(to, BulkIntent.PAUSE, many, yes=yes, wait=wait, **how)
        return
    chosen = to.job(require_job(jobs))
    carry_out(to, chosen, stop(chosen, Intent.PAUSE, **how), wait=wait, timeout=timeout)


@connected
def cancel_status(to: Connection, job: JobName) -> None:
    """Show the progress of the latest stop of a job."""
    record = to.send(queries.cancellation(job=to.job(job)))
    to.out.answer(record, lambda record: print_record(to, record))


@connected
def cancellations(
    to: Connection,
    limit: Limit = 10,
    offset: int = option("N", "Skip the newest N.", default=0),
) -> None:
    """List stops, newest first."""
    if offset < 0:
        raise InputRefused(f"--offset takes 0 or more, not {offset}")
    to.out.answer_table(
        to.send(queries.cancellations(limit, offset)),
        ("cancellation", "job", "status", "stopped", "took", "by", "reason", "requested"),
        lambda record: (
            record.cancellation_id,
            record.job_id if record.task_id is None else f"{record.job_id}/{record.task_id}",
            to.out.status(record.status),
            len(record.tasks_cancelled),
            duration_text(record.duration_seconds),
            record.initiated_by,
            record.reason,
            ago(record.initiated_at),
        ),
        "no cancellations",
    )


@connected
def rollback(
    to: Connection,
    cancellation: str = argument("CANCELLATION", "Id of a stop, such as cancel-000001."),
    task: list[str] | None = option("ID", "Only this child. Repeatable."),
    reason: Reason = None,
) -> None:
    """Undo the work of the completed children of a cancelled job, newest first."""
    tasks = [whole(child, "a task") for child in task or ()] or None
    answer = to.send(control_calls.rollback(cancellation, tasks, reason=reason))
    to.out.answer(answer, f"Job {answer['job']} performs the rollback.")
