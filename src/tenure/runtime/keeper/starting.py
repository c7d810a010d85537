"""What becomes of a job that was just claimed: work for a runner, or its end."""

import logging
from collections.abc import Mapping

from tenure.errors import InputRefused
from tenure.runtime.keeper.run import Run
from tenure.runtime.messages import Work
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed, Unreadable

_log = logging.getLogger("tenure.worker")


def unreadable(tenant: str, job: Claimed, refusal: InputRefused) -> Ending:
    """A job that cannot even be started ends there, and nowhere else."""
    about = {"tenant": tenant, "job": job.id, "attempt": job.attempt}
    return _failed(job, str(refusal), about)


def set_aside(tenant: str, job: Unreadable) -> Ending:
    """Fail a job whose row cannot be read; those that were claimed with it are not affected."""
    sentence = f"its row in the database cannot be read: {job.why}"
    return _failed(job, sentence, {"tenant": tenant, "job": job.id})


def _failed(job: Claimed | Unreadable, sentence: str, about: Mapping[str, object]) -> Ending:
    _log.warning("job %d: %s", job.id, sentence, extra=about)
    error = {"type": "tenure.InputRefused", "message": sentence}
    return Ending(job=job.id, token=job.token, outcome="failed", error=error)


def work_of(run: Run) -> Work:
    job = run.job
    return Work(
        run.number,
        job.id,
        job.token,
        job.task,
        job.queue,
        job.raw_args,
        job.attempt,
        job.max_attempts,
        job.crashes,
        job.priority,
        job.owner,
        job.root_id,
        job.parent_id,
        job.key,
        job.target,
        job.slots,
        job.raw_checkpoint,
        run.limits.close_timeout.total_seconds(),
        run.limits.preserve_artifacts,
        run.trace if job.options else None,
    )
