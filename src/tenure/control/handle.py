"""A job from the outside: look at it, wait for it, stop it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar, Unpack

import msgspec

from tenure.control.client import Client
from tenure.control.inspection import PATIENCE, inspect
from tenure.control.job_operations import (
    CancelOptions,
    StopOptions,
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
from tenure.domain.inspection import Inspection
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import Intent, State, Status
from tenure.domain.task import Length
from tenure.domain.tenant import Tenant
from tenure.errors import JobCancelled, JobNotEnded
from tenure.store.calls import queries
from tenure.store.results import Explanation, JobRunner
from tenure.store.ruled import Policy

R = TypeVar("R")
T = TypeVar("T")


class Handle(Generic[R]):
    """One job of one tenant, whether it exists or not; nothing is asked until you ask.

    Every method comes twice: plain, and with a leading ``a`` for async code. The twin of ``wait``
    is ``await_end``.
    """

    def __init__(
        self, client: Client, job: int, tenant: Tenant, *, created: bool | None = None
    ) -> None:
        self.id = job
        self.created = created  # false: its key was taken, and this job was there before
        self._client = client
        self._tenant = tenant

    @property
    def tenant(self) -> str:
        """The name of the tenant whose job it is."""
        return self._tenant.name

    def status(self) -> Status:
        """How it stands, in one word."""
        return self.job().status

    async def astatus(self) -> Status:
        return (await self.ajob()).status

    def job(self) -> Job:
        """All that is known of it."""
        return self._take(single(queries.show(self.id)))

    async def ajob(self) -> Job:
        return await self._atake(single(queries.show(self.id)))

    def explain(self) -> Explanation:
        """Why it is not running, or not stopping."""
        return self._take(single(queries.explain(self.id)))

    async def aexplain(self) -> Explanation:
        return await self._atake(single(queries.explain(self.id)))

    def look(self, timeout: Length = PATIENCE, *, by: str | None = None) -> Inspection:
        """Where its code is right now, and what its processes take; for as long as it runs."""
        return self._take(inspect(self.id, timeout, by=by))

    async def alook(self, timeout: Length = PATIENCE, *, by: str | None = None) -> Inspection:  # noqa: ASYNC109
        return await self._atake(inspect(self.id, timeout, by=by))

    def wait(self, timeout: Length | None = None) -> Job:
        """The job once it is completed, failed or cancelled; a paused one may still go on."""
        return self._take(ended(self.id, timeout))

    async def await_end(self, timeout: Length | None = None) -> Job:  # noqa: ASYNC109
        return await self._atake(ended(self.id, timeout))

    def result(self, timeout: Length | None = None) -> R:
        """What it returned, once it has: JobFailed or JobCancelled if it ended otherwise."""
        return self.read(self.wait(timeout))

    async def aresult(self, timeout: Length | None = None) -> R:  # noqa: ASYNC109
        return self.read(await self.await_end(timeout))

    def read(self, job: Job | Mapping[str, JSON]) -> R:
        """The result in a job that was looked at before."""
        job = job if isinstance(job, Job) else msgspec.convert(job, Job)
        if job.state is State.COMPLETED:
            result: R = self._client.read_result(job)
            return result
        if job.state is State.FAILED:
            raise failure(job)
        if job.state is State.CANCELLED:
            raise JobCancelled(job.id, job.cancellation_reason, job.cancelled_by)
        raise JobNotEnded(f"job {job.id} has not ended; it is {job.status}")

    def cancel(self, reason: str | None = None, **how: Unpack[CancelOptions]) -> CancellationRecord:
        """End it early, and its children with it.

        With ``wait`` the record is that of the end, when everything has stopped.
        """
        return self._take(stop(self.id, Intent.CANCEL, reason, **how))

    async def acancel(
        self, reason: str | None = None, **how: Unpack[CancelOptions]
    ) -> CancellationRecord:
        return await self._atake(stop(self.id, Intent.CANCEL, reason, **how))

    def cancel_at(
        self,
        at: datetime,
        reason: str | None = None,
        *,
        strategy: str | None = None,
        by: str | None = None,
    ) -> Policy:
        """Cancel it at this time, if it has not ended by then; said again, the new time counts."""
        steps = stop_at(self.id, at, Intent.CANCEL, reason, strategy=strategy, by=by)
        return self._take(steps)

    async def acancel_at(
        self,
        at: datetime,
        reason: str | None = None,
        *,
        strategy: str | None = None,
        by: str | None = None,
    ) -> Policy:
        steps = stop_at(self.id, at, Intent.CANCEL, reason, strategy=strategy, by=by)
        return await self._atake(steps)

    def pause(self, reason: str | None = None, **how: Unpack[StopOptions]) -> CancellationRecord:
        """Stop it so that it can go on later, from its checkpoint."""
        return self._take(stop(self.id, Intent.PAUSE, reason, **how))

    async def apause(
        self, reason: str | None = None, **how: Unpack[StopOptions]
    ) -> CancellationRecord:
        return await self._atake(stop(self.id, Intent.PAUSE, reason, **how))

    def resume(
        self,
        reason: str | None = None,
        *,
        fresh: bool = False,
        budget: Mapping[str, Amount] | None = None,
        by: str | None = None,
    ) -> Job:
        """Let a paused or failed job go on.

        ``fresh``: without its checkpoint. ``budget``: with these limits instead of the old ones; a
        job that has spent its budget needs larger ones.
        """
        return self._take(resume(self.id, reason, fresh=fresh, budget=budget, by=by))

    async def aresume(
        self,
        reason: str | None = None,
        *,
        fresh: bool = False,
        budget: Mapping[str, Amount] | None = None,
        by: str | None = None,
    ) -> Job:
        return await self._atake(resume(self.id, reason, fresh=fresh, budget=budget, by=by))

    def runners(self) -> tuple[JobRunner, ...]:
        """The runners in which it or anything below it runs, as of the last beat of their worker.

        ``Tenure.end_runner`` ends one.
        """
        return self._take(runners(self.id))

    async def arunners(self) -> tuple[JobRunner, ...]:
        return await self._atake(runners(self.id))

    def partials(self) -> list[JSON]:
        """Its partial results, oldest first; they outlive every kind of end."""
        return self._take(partials(self.id))

    async def apartials(self) -> list[JSON]:
        return await self._atake(partials(self.id))

    def artifacts(self) -> tuple[Mapping[str, JSON], ...]:
        """The files it kept: name, url and size of each."""
        return self.job().artifacts

    async def aartifacts(self) -> tuple[Mapping[str, JSON], ...]:
        return (await self.ajob()).artifacts

    def children(self) -> list["Handle[Any]"]:
        """The jobs whose parent it is, oldest first."""
        return [self._child(job) for job in self._take(children(self.id))]

    async def achildren(self) -> list["Handle[Any]"]:
        return [self._child(job) for job in await self._atake(children(self.id))]

    def _child(self, job: int) -> "Handle[Any]":
        return Handle(self._client, job, self._tenant)

    def _take(self, steps: Operation[T]) -> T:
        return self._client.perform(steps, self._tenant)

    async def _atake(self, steps: Operation[T]) -> T:
        return await self._client.aperform(steps, self._tenant)

    def __repr__(self) -> str:
        return f"<handle of job {self.id} of tenant {self.tenant}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Handle):
            return NotImplemented
        return (self.id, self._tenant) == (other.id, other._tenant)

    def __hash__(self) -> int:
        return hash((self.id, self._tenant))
