"""A handle of a job: read it, wait for it, stop it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar, Unpack

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
    runners,
    stop,
)
from tenure.control.operation import Operation, single
from tenure.control.policies import stop_at
from tenure.domain.budget import Amount
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import Duration
from tenure.domain.inspection import Inspection
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import Intent, State, Status
from tenure.domain.tenant import Tenant
from tenure.errors import JobCancelled, JobNotEnded
from tenure.store.calls import queries
from tenure.store.policy_results import Policy
from tenure.store.results import Explanation, JobRunner

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

    def status(self) -> Status:
        """Return its status."""
        return self.job().status

    async def astatus(self) -> Status:
        """Async version of ``status``."""
        return (await self.ajob()).status

    def job(self) -> Job:
        """Return the job with all its fields."""
        return self._perform(single(queries.show(self.id)))

    async def ajob(self) -> Job:
        """Async version of ``job``."""
        return await self._aperform(single(queries.show(self.id)))

    def explain(self) -> Explanation:
        """Explain why it is not running, or not stopping."""
        return self._perform(single(queries.explain(self.id)))

    async def aexplain(self) -> Explanation:
        """Async version of ``explain``."""
        return await self._aperform(single(queries.explain(self.id)))

    def inspect(self, timeout: Duration = PATIENCE, *, by: str | None = None) -> Inspection:
        """Return the stack of its code and the memory of its processes while it runs."""
        return self._perform(inspect_job(self.id, timeout, by=by))

    async def ainspect(self, timeout: Duration = PATIENCE, *, by: str | None = None) -> Inspection:  # noqa: ASYNC109
        """Async version of ``inspect``."""
        return await self._aperform(inspect_job(self.id, timeout, by=by))

    def wait(self, timeout: Duration | None = None) -> Job:
        """Wait until it is completed, failed or cancelled, and return it."""
        return self._perform(ended(self.id, timeout))

    async def await_end(self, timeout: Duration | None = None) -> Job:  # noqa: ASYNC109
        """Async version of ``wait``."""
        return await self._aperform(ended(self.id, timeout))

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for its result; raise JobFailed or JobCancelled if it has none."""
        return self.read(self.wait(timeout))

    async def aresult(self, timeout: Duration | None = None) -> R:  # noqa: ASYNC109
        """Async version of ``result``."""
        return self.read(await self.await_end(timeout))

    def read(self, job: Job | Mapping[str, JSON]) -> R:
        """Return the result in a job that was read before."""
        job = job if isinstance(job, Job) else msgspec.convert(job, Job)
        if job.state is State.COMPLETED:
            result: R = self._client.read_result(job)
            return result
        if job.state is State.FAILED:
            raise failure(job)
        if job.state is State.CANCELLED:
            raise JobCancelled(job.id, job.cancellation_reason, job.cancelled_by)
        raise JobNotEnded(f"job {job.id} has not ended; it is {job.status}")

    def cancel(
        self, reason: str | None = None, **options: Unpack[StopArguments]
    ) -> CancellationRecord:
        """Cancel it and its children.

        With ``wait`` return the record when everything has stopped.
        """
        return self._perform(stop(self.id, Intent.CANCEL, reason, **options))

    async def acancel(
        self, reason: str | None = None, **options: Unpack[StopArguments]
    ) -> CancellationRecord:
        """Async version of ``cancel``."""
        return await self._aperform(stop(self.id, Intent.CANCEL, reason, **options))

    def cancel_at(
        self,
        at: datetime,
        reason: str | None = None,
        *,
        strategy: str | None = None,
        by: str | None = None,
    ) -> Policy:
        """Cancel it at this time if it has not ended by then; a later call changes the time."""
        operation = stop_at(self.id, at, Intent.CANCEL, reason, strategy=strategy, by=by)
        return self._perform(operation)

    async def acancel_at(
        self,
        at: datetime,
        reason: str | None = None,
        *,
        strategy: str | None = None,
        by: str | None = None,
    ) -> Policy:
        """Async version of ``cancel_at``."""
        operation = stop_at(self.id, at, Intent.CANCEL, reason, strategy=strategy, by=by)
        return await self._aperform(operation)

    def pause(
        self, reason: str | None = None, **options: Unpack[StopArguments]
    ) -> CancellationRecord:
        """Pause it; it can be resumed from its checkpoint."""
        return self._perform(stop(self.id, Intent.PAUSE, reason, **options))

    async def apause(
        self, reason: str | None = None, **options: Unpack[StopArguments]
    ) -> CancellationRecord:
        """Async version of ``pause``."""
        return await self._aperform(stop(self.id, Intent.PAUSE, reason, **options))

    def resume(
        self,
        reason: str | None = None,
        *,
        fresh: bool = False,
        budget: Mapping[str, Amount] | None = None,
        by: str | None = None,
    ) -> Job:
        """Resume a paused or failed job.

        ``fresh``: without its checkpoint. ``budget``: new limits; a job that has spent its budget
        needs larger ones.
        """
        return self._perform(resume(self.id, reason, fresh=fresh, budget=budget, by=by))

    async def aresume(
        self,
        reason: str | None = None,
        *,
        fresh: bool = False,
        budget: Mapping[str, Amount] | None = None,
        by: str | None = None,
    ) -> Job:
        """Async version of ``resume``."""
        return await self._aperform(resume(self.id, reason, fresh=fresh, budget=budget, by=by))

    def runners(self) -> tuple[JobRunner, ...]:
        """Return the runners of it and of all jobs below it, as of their worker's last heartbeat.

        ``Tenure.end_runner`` ends a runner.
        """
        return self._perform(runners(self.id))

    async def arunners(self) -> tuple[JobRunner, ...]:
        """Async version of ``runners``."""
        return await self._aperform(runners(self.id))

    def partials(self) -> list[JSON]:
        """Return its partial results, oldest first; they outlive every kind of end."""
        return self._perform(partials(self.id))

    async def apartials(self) -> list[JSON]:
        """Async version of ``partials``."""
        return await self._aperform(partials(self.id))

    def artifacts(self) -> tuple[Mapping[str, JSON], ...]:
        """Return the name, url and size of each file it kept."""
        return self.job().artifacts

    async def aartifacts(self) -> tuple[Mapping[str, JSON], ...]:
        """Async version of ``artifacts``."""
        return (await self.ajob()).artifacts

    def children(self) -> list["Handle[Any]"]:
        """Return its children, oldest first."""
        return [self._child(job) for job in self._perform(children(self.id))]

    async def achildren(self) -> list["Handle[Any]"]:
        """Async version of ``children``."""
        return [self._child(job) for job in await self._aperform(children(self.id))]

    def _child(self, job: int) -> "Handle[Any]":
        return Handle(self._client, job, self._tenant)

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
