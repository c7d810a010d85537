"""``tenure job resume``, ``clear``, ``rerun`` and ``queue``: run or give up a job that stands."""

from tenure.cli.connection import Connection, connected
from tenure.cli.job.bulk import change_many, filter_of_many
from tenure.cli.options import (
    JobName,
    Jobs,
    NotBefore,
    Reason,
    Wait,
    Where,
    Yes,
    flag,
    option,
    require_job,
)
from tenure.cli.parsing import named_values, point_in_time, step_value, value
from tenure.control.job_operations import resume as resume_job
from tenure.control.questions import rerun as rerun_job
from tenure.domain.lifecycle import BulkIntent
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, enqueue_calls


@connected
def resume(
    to: Connection,
    jobs: Jobs = None,
    fresh: bool = flag("--fresh", "Start from the beginning, without the checkpoint."),
    budget: list[str] | None = option("UNIT=LIMIT", "A larger budget: tokens=50000. Repeatable."),
    carried: str | None = option(
        "JSON", "A value for its code: '{\"approved\": true}', or a text.", "--value"
    ),
    reason: Reason = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Resume a paused or failed job from its checkpoint.

    With several jobs, or with --where instead of a job, resume them all, after counting them and
    asking for confirmation.
    """
    if (many := filter_of_many(to, jobs, where)) is not None:
        for name, given in (("--budget", budget), ("--value", carried)):
            if given:
                raise InputRefused(f"{name} is for one job; leave it out, or name the job")
        change_many(to, BulkIntent.RESUME, many, reason, fresh=fresh, yes=yes, wait=wait)
        return
    limits = named_values(budget) if budget else None
    resumed = to.perform(
        resume_job(
            to.job(require_job(jobs)),
            reason,
            fresh=fresh,
            budget=limits,
            value=None if carried is None else value(carried),
        )
    )
    to.out.answer(resumed, f"Job {resumed.id} is resumed; it is {resumed.status}.")


@connected
def clear(to: Connection, job: JobName, reason: Reason = None) -> None:
    """Cancel a failed job, so that it blocks its target no longer."""
    chosen = to.job(job)
    answer = to.send(control_calls.clear(chosen, reason=reason))
    to.out.answer(answer, f"Job {chosen} is cleared.")


@connected
def rerun(
    to: Connection,
    jobs: Jobs = None,
    from_step: str | None = option("STEP", "With the steps before this one.", "--from"),
    reason: Reason = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Enqueue a new job with the arguments and options of an existing one.

    With several jobs, or with --where instead of a job, rerun those that have ended, after counting
    them and asking for confirmation.
    """
    if (many := filter_of_many(to, jobs, where)) is not None:
        if from_step:
            raise InputRefused("--from is for one job; leave it out, or name the job")
        change_many(to, BulkIntent.RERUN, many, reason, yes=yes, wait=wait)
        return
    chosen = to.job(require_job(jobs))
    new = to.perform(rerun_job(chosen, reason, from_step=from_step))
    to.out.answer(new, f"Enqueued job {new.id}, a rerun of job {chosen}.")


@connected
def fork(
    to: Connection,
    job: JobName,
    from_step: str | None = option("STEP", "Run this step and those after it again.", "--from"),
    values: list[str] | None = option(
        "STEP=JSON", "A value to use instead of that of a step. Repeatable.", "--set"
    ),
    reason: Reason = None,
) -> None:
    """Enqueue a new job that has the values of an existing job's steps.

    Without --from it has the values of all steps that have ended.
    """
    chosen = to.job(job)
    steps = dict(map(step_value, values or ()))
    new = to.perform(rerun_job(chosen, reason, from_step=from_step, steps=steps))
    to.out.answer(new, f"Enqueued job {new.id}, a fork of job {chosen}.")


@connected
def queue(to: Connection, job: JobName, at: NotBefore = None) -> None:
    """Queue a job that was created without being queued."""
    run_at = None if at is None else point_in_time(at, "--at")
    queued = to.send(enqueue_calls.queue(to.job(job), run_at=run_at))
    to.out.answer(queued, f"Job {queued.id} is {queued.status}.")
