"""The cancellation service: stops that are waited for, looked at, watched and undone."""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, TypedDict, TypeVar, Unpack

from tenure.control.cancellation_log import CancellationLog
from tenure.control.client import Client, as_tenant
from tenure.control.job_operations import job_with_key, stop
from tenure.control.operation import Operation, single
from tenure.control.subscription import Ends, Subscription
from tenure.domain.cancellation import CancellationRecord, CancellationResult, CancellationStatus
from tenure.domain.duration import duration, in_words
from tenure.domain.job import Job
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import Principal
from tenure.domain.task import LastRung, Length
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, JobNotEnded, NotFound
from tenure.store.calls import control_calls, queries

T = TypeVar("T")

LAST_LOOK = 5.0  # seconds; a database that is away is not waited for any longer

log = logging.getLogger("tenure")


class Manner(TypedDict, total=False):
    """How something is cancelled. What is not said is as the strategy says, if one is named."""

    strategy: str | None  # a set of these with a name
    grace: Length | None  # from now to the kill
    ask_for: Length | None  # of the grace, before it is interrupted
    last_rung: LastRung | None  # the furthest it may go
    rollback: bool | None  # undo what its tasks had completed, newest first
    rollback_tasks: Sequence[int] | None  # undo only these
    preserve: bool | None  # keep the artifacts
    timeout: Length | None  # of the wait; the stop goes on


class CancellationService:
    """Cancels jobs and tasks, and knows of every stop of a tenant.

    Jobs are named by their id or their key. With a principal it acts in their name and their
    tenant, else as the database user.
    """

    def __init__(
        self,
        client: Client,
        tenant: Tenant | str = DEFAULT,
        *,
        principal: Principal | None = None,
    ) -> None:
        self._client = client
        self._tenant = as_tenant(tenant)
        if principal is not None:
            if self._tenant not in (DEFAULT, principal.tenant):
                raise InputRefused(f"{principal.name} is of tenant {principal.tenant.name!r}")
            self._tenant = principal.tenant
        self._caller = None if principal is None else client.acting_as(principal)

    async def cancel_job(
        self,
        job_id: int | str,
        reason: str | None = None,
        force: bool = False,
        *,
        cascade: bool | None = None,
        **manner: Unpack[Manner],
    ) -> CancellationResult:
        """End a job early and all below it, and wait until everything has stopped.

        A job that does not exist or has ended is refused, and nothing goes on record. Asked again
        while it goes on, it is the same cancellation. JobNotEnded: it goes on after the timeout.
        """
        return await self._cancel(await self._id(job_id), reason, force, cascade, manner)

    async def cancel_task(
        self,
        task_id: int | str,
        reason: str | None = None,
        cascade: bool = True,
        *,
        job_id: int | str | None = None,
        force: bool = False,
        **manner: Unpack[Manner],
    ) -> CancellationResult:
        """End one task early, with what comes after it unless ``cascade`` is false.

        If the job is named, a task that is not below it is refused.
        """
        task = await self._id(task_id)
        if job_id is not None:
            await self._take(refuse_stranger(task, await self._id(job_id)))
        return await self._cancel(task, reason, force, None if cascade else False, manner)

    async def get_cancellation_status(self, job_id: int | str) -> CancellationStatus:
        """How far the latest stop of a job has come."""
        return (await self.record_of(job_id)).status

    async def get_record(self, cancellation_id: str) -> CancellationRecord:
        """All that is on record about one stop."""
        return await self._take(single(queries.cancellation(cancellation_id)))

    async def record_of(self, job_id: int | str) -> CancellationRecord:
        """The latest stop of a job, of whatever it was a part."""
        job = await self._id(job_id)
        try:
            return await self._take(single(queries.cancellation(job=job)))
        except NotFound:
            await self._take(single(queries.show(job)))  # says so if there is no such job
            raise

    async def list_cancellations(
        self, limit: int = 10, offset: int = 0
    ) -> tuple[CancellationRecord, ...]:
        """The latest stops, newest first."""
        if limit < 1 or offset < 0:
            raise InputRefused("a page has at least 1 record, and none comes before the first")
        return await self._take(single(queries.cancellations(limit, offset)))

    async def rollback(
        self,
        cancellation_id: str,
        tasks: Sequence[int] | None = None,
        reason: str | None = None,
    ) -> int:
        """Undo what the tasks of a cancelled job had completed, or some of them.

        The answer is the id of the job that does it.
        """
        undo = control_calls.rollback(cancellation_id, tasks, reason=reason)
        return (await self._take(single(undo)))["job"]

    async def watch(self, cancellation_id: str) -> AsyncGenerator[CancellationRecord]:
        """A record as it is and at each change, until it is closed."""
        async with (
            Subscription(self._client) as watching,
            aclosing(watching.cancellation(self._tenant, cancellation_id)) as records,
        ):
            async for record in records:
                yield record

    async def ends(self) -> AsyncGenerator[CancellationRecord]:
        """Every record that ends from now on, each once; an outage loses none."""
        async with Subscription(self._client) as watching, watching.ends(self._tenant) as ends:
            async for record in ends:
                yield record

    @asynccontextmanager
    async def on_end(self, hook: Callable[[CancellationRecord], Any]) -> AsyncIterator[None]:
        """Call this with every record that ends within the block.

        What the hook raises is logged, and does not keep the others from it.
        """
        async with Subscription(self._client) as watching, watching.ends(self._tenant) as ends:
            telling = asyncio.create_task(_tell(hook, ends))
            try:
                yield
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_LOOK):
                        await ends.finish()
                        await asyncio.shield(telling)
            finally:
                telling.cancel()
                with suppress(asyncio.CancelledError):
                    await telling

    async def _cancel(
        self, job: int, reason: str | None, force: bool, cascade: bool | None, manner: Manner
    ) -> CancellationResult:
        timeout = manner.pop("timeout", None)
        limit = None if timeout is None else duration(timeout)
        asked = await self._take(
            stop(job, Intent.CANCEL, reason, force=force or None, cascade=cascade, **manner)
        )
        steps = CancellationLog(self._tenant, job)
        steps.begin(asked)
        # Asked once more in any case: the answer to a stop does not name its members.
        if asked.completed_at is not None:
            record = await self.get_record(asked.cancellation_id)
            steps.move(record)
        else:
            record = await self._closed(asked, limit, steps)
        steps.end(record)
        return record.result()

    async def _closed(
        self, record: CancellationRecord, limit: timedelta | None, steps: CancellationLog
    ) -> CancellationRecord:
        name = record.cancellation_id
        try:
            async with (
                asyncio.timeout(None if limit is None else limit.total_seconds()),
                Subscription(self._client, listen=False) as watching,
                aclosing(watching.cancellation(self._tenant, name, is_patient=True)) as changes,
            ):
                async for seen in changes:
                    record = seen
                    steps.move(record)
        except TimeoutError:
            assert limit is not None
            raise JobNotEnded(
                f"{name} is {record.status} after {in_words(limit)} of waiting"
            ) from None
        return record

    async def _id(self, job: int | str) -> int:
        return await self._take(job_with_key(job)) if isinstance(job, str) else job

    async def _take(self, steps: Operation[T]) -> T:
        if self._caller is not None:
            return await self._caller.aperform(steps)
        return await self._client.aperform(steps, self._tenant)


def refuse_stranger(task: int, job: int) -> Operation[None]:
    """Refuse a task that is not below this job."""
    seen: Job = yield queries.show(task)
    yield queries.show(job)
    while seen.parent_id != job:
        if seen.parent_id is None:
            raise NotFound(f"job {job} has no task {task}")
        seen = yield queries.show(seen.parent_id)


async def _tell(hook: Callable[[CancellationRecord], Any], ends: Ends) -> None:
    async for record in ends:
        try:
            answer = hook(record)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            log.exception("the hook for the end of %s failed", record.cancellation_id)
