"""A handle of a job: read it, wait for it, stop it."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

import msgspec

from tenure.control.client import Client
from tenure.control.inspection import PATIENCE
from tenure.control.inspection import inspect as inspect_job
from tenure.control.job_operations import (
    StopArguments,
    children,
    ended,
    failure,
    partials,
    resume,
    stop,
)
from tenure.control.operation import Operation, performed, single, twin
from tenure.control.policies import stop_at
from tenure.control.questions import answer, rerun, steps
from tenure.domain.budget import Amount
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import Duration
from tenure.domain.inspection import Inspection
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import Intent, State, Status
from tenure.domain.step import Answered, Question, StepRecord
from tenure.domain.tenant import Tenant
from tenure.errors import JobCancelled, JobNotEnded
from tenure.store.calls import queries, step_calls
from tenure.store.policy_results import Policy
from tenure.store.results import Explanation, JobRunner

if TYPE_CHECKING:
    from tenure.control.stream_reading import JobStream

R = TypeVar("R")
T = TypeVar("T")


class Handle(Generic[R]):
    """A job of a tenant by its id. Making a handle does not query the database.

    Every method has an async twin with a leading ``a``. The twin of ``wait`` is ``await_end``.
    """

    def __init__(
        self, client: Client, job: int, tenant: Tenant, *, created: bool | None = None
    ) -> None:
        self.id = job
        self.created = created  # false: a job with its key existed already
        self._client = client
        self._tenant = tenant

    @property
    def tenant(self) -> str:
        """Return the name of its tenant."""
        return self._tenant.name

    @performed
    def status(self) -> Operation[Status]:
        """Return its status."""
        job: Job = yield queries.show(self.id)
        return job.status

    astatus = twin(status)

    @performed
    def job(self) -> Operation[Job]:
        """Return the job with all its fields."""
        return single(queries.show(self.id))

    ajob = twin(job)

    @performed
    def explain(self) -> Operation[Explanation]:
        """Explain why it is not running, or not stopping."""
        return single(queries.explain(self.id))

    aexplain = twin(explain)

    @performed
    def inspect(
        self, timeout: Duration = PATIENCE, *, by: str | None = None
    ) -> Operation[Inspection]:
        """Return the stack of its code and the memory of its processes while it runs."""
        return inspect_job(self.id, timeout, by=by)

    ainspect = twin(inspect)

    @performed
    def wait(self, timeout: Duration | None = None) -> Operation[Job]:
        """Wait until it is completed, failed or cancelled, and return it."""
        return ended(self.id, timeout)

    await_end = twin(wait, "await_end")

    @performed
    def result(self, timeout: Duration | None = None) -> Operation[R]:
        """Wait for its result; raise JobFailed or JobCancelled if it has none."""
        return self.read((yield from ended(self.id, timeout)))

    async def aresult(self, timeout: Duration | None = None) -> R:  # noqa: ASYNC109
        """Async version of ``result``."""
        job = await self._aperform(ended(self.id, timeout))
        if job.result_artifact is None:
            return self.read(job)
        return await asyncio.to_thread(self.read, job)

    def read(self, job: Job | Mapping[str, JSON]) -> R:
        """Return the result in a job that was read before; a large one is read from storage."""
        job = job if isinstance(job, Job) else msgspec.convert(job, Job)
        if job.state is State.COMPLETED:
            if job.result_artifact is not None:
                from tenure.control.artifact_files import with_result

                job = with_result(self._client.settings, self._tenant, job)
            result: R = self._client.read_result(job)
            return result
        if job.state is State.FAILED:
            raise failure(job)
        if job.state is State.CANCELLED:
            raise JobCancelled(job.id, job.cancellation_reason, job.cancelled_by)
        raise JobNotEnded(f"job {job.id} has not ended; it is {job.status}")

    @performed
    def cancel(
        self, reason: str | None = None, **options: Unpack[StopArguments]
    ) -> Operation[CancellationRecord]:
        """Cancel it and its children.

        With ``wait`` return the record when everything has stopped.
        """
        return stop(self.id, Intent.CANCEL, reason, **options)

    acancel = twin(cancel)

    @performed
    def cancel_at(
        self,
        at: datetime,
        reason: str | None = None,
        *,
        strategy: str | None = None,
        by: str | None = None,
    ) -> Operation[Policy]:
        """Cancel it at this time if it has not ended by then; a later call changes the time."""
        return stop_at(self.id, at, Intent.CANCEL, reason, strategy=strategy, by=by)

    acancel_at = twin(cancel_at)

    @performed
    def pause(
        self, reason: str | None = None, **options: Unpack[StopArguments]
    ) -> Operation[CancellationRecord]:
        """Pause it; it can be resumed from its checkpoint."""
        return stop(self.id, Intent.PAUSE, reason, **options)

    apause = twin(pause)

    @performed
    def resume(
        self,
        reason: str | None = None,
        *,
        fresh: bool = False,
        budget: Mapping[str, Amount] | None = None,
        value: JSON = None,
        by: str | None = None,
    ) -> Operation[Job]:
        """Resume a paused or failed job.

        ``fresh``: without its checkpoint. ``budget``: new limits; a job that has spent its budget
        needs larger ones. ``value``: what its code finds in ``ctx.resume_value``.
        """
        return resume(self.id, reason, fresh=fresh, budget=budget, value=value, by=by)

    aresume = twin(resume)

    @performed
    def runners(self) -> Operation[tuple[JobRunner, ...]]:
        """Return the runners of it and of all jobs below it, as of their worker's last heartbeat.

        ``Tenure.end_runner`` ends a runner.
        """
        return single(queries.runners(self.id))

    arunners = twin(runners)

    def stream(self, after: int | str = 0) -> "JobStream":
        """Return its stream: partial results, log lines, progress, status, as they come.

        For ``for`` and ``async for``; it ends when the job has ended. ``after``: the id of the last
        item that was seen, or the number of a partial result.
        """
        from tenure.control.stream_reading import JobStream  # imports the driver

        return JobStream(self._client, self.id, self._tenant, after)

    @performed
    def partials(self) -> Operation[list[JSON]]:
        """Return its partial results, oldest first; they outlive every kind of end."""
        return partials(self.id)

    apartials = twin(partials)

    @performed
    def artifacts(self) -> Operation[tuple[Mapping[str, JSON], ...]]:
        """Return the name, url and size of each file it kept."""
        job: Job = yield queries.show(self.id)
        return job.artifacts

    aartifacts = twin(artifacts)

    @performed
    def children(self) -> Operation[list["Handle[Any]"]]:
        """Return its children, oldest first."""
        ids = yield from children(self.id)
        return [Handle(self._client, job, self._tenant) for job in ids]

    achildren = twin(children)

    @performed
    def steps(self) -> Operation[list[StepRecord]]:
        """Return its steps, and what it waited for, in the order in which they ended."""
        return steps(self.id)

    asteps = twin(steps)

    @performed
    def questions(self) -> Operation[tuple[Question, ...]]:
        """Return its open questions."""
        return single(step_calls.questions(self.id))

    aquestions = twin(questions)

    @performed
    def answer(
        self, value: JSON, question: int | None = None, *, by: str | None = None
    ) -> Operation[Answered]:
        """Answer a question by its id, or the only open one; each takes one answer."""
        return answer(self.id, value, question, by=by)

    aanswer = twin(answer)

    @performed
    def rerun(
        self,
        reason: str | None = None,
        *,
        from_step: str | None = None,
        steps: Mapping[str, JSON] | None = None,
        by: str | None = None,
    ) -> Operation["Handle[R]"]:
        """Enqueue a new job with its arguments and options.

        ``from_step``: with the values of all steps before this one. ``steps``: values to use
        instead, by name; alone, all others are kept too.
        """
        made = yield from rerun(self.id, reason, from_step=from_step, steps=steps, by=by)
        return Handle(self._client, made.id, self._tenant)

    arerun = twin(rerun)

    def _perform(self, operation: Operation[T]) -> T:
        return self._client.perform(operation, self._tenant)

    async def _aperform(self, operation: Operation[T]) -> T:
        return await self._client.aperform(operation, self._tenant)

    def __repr__(self) -> str:
        return f"<handle of job {self.id} of tenant {self.tenant}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Handle):
            return NotImplemented
        return (self.id, self._tenant) == (other.id, other._tenant)

    def __hash__(self) -> int:
        return hash((self.id, self._tenant))
