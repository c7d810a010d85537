"""``tenure job resume``, ``clear``, ``rerun`` and ``queue``: run or give up a job that stands."""

from tenure.cli.connection import Connection, connected
from tenure.cli.job.bulk import rerun_where, resume_where
from tenure.cli.options import (
    JobName,
    NotBefore,
    OptionalJob,
    Reason,
    Wait,
    Where,
    Yes,
    flag,
    option,
    refuse_job,
    require_job,
)
from tenure.cli.parsing import named_values, point_in_time
from tenure.control.job_operations import resume as resume_job
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, enqueue_calls


@connected
def resume(
    to: Connection,
    job: OptionalJob = None,
    fresh: bool = flag("--fresh", "Start from the beginning, without the checkpoint."),
    budget: list[str] | None = option("UNIT=LIMIT", "A larger budget: tokens=50000. Repeatable."),
    reason: Reason = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Resume a paused or failed job from its checkpoint.

    With --where instead of a job, resume all matching jobs, after counting them and asking for
    confirmation.
    """
    if where:
        refuse_job(job)
        if budget:
            raise InputRefused("--budget is for one job; leave it out, or name the job")
        resume_where(to, where, reason, fresh=fresh, yes=yes, wait=wait)
        return
    limits = named_values(budget) if budget else None
    resumed = to.perform(resume_job(to.job(require_job(job)), reason, fresh=fresh, budget=limits))
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
    job: OptionalJob = None,
    reason: Reason = None,
    where: Where = None,
    yes: Yes = False,
    wait: Wait = True,
) -> None:
    """Enqueue a new job with the arguments and options of an existing one.

    With --where instead of a job, rerun all matching jobs that have ended, after counting them and
    asking for confirmation.
    """
    if where:
        refuse_job(job)
        rerun_where(to, where, reason, yes=yes, wait=wait)
        return
    chosen = to.job(require_job(job))
    new = to.send(control_calls.rerun(chosen, reason=reason))
    to.out.answer(new, f"Enqueued job {new.id}, a rerun of job {chosen}.")


@connected
def queue(to: Connection, job: JobName, at: NotBefore = None) -> None:
    """Queue a job that was created without being queued."""
    run_at = None if at is None else point_in_time(at, "--at")
    queued = to.send(enqueue_calls.queue(to.job(job), run_at=run_at))
    to.out.answer(queued, f"Job {queued.id} is {queued.status}.")
