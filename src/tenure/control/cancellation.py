"""The cancellation service: cancel jobs and wait, read records, watch them, roll back."""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar, Unpack

from tenure.control.cancellation_log import CancellationLog
from tenure.control.client import Client, as_tenant
from tenure.control.job_operations import job_with_key, stop
from tenure.control.operation import Operation, single
from tenure.control.subscription import ClosedRecords, Subscription
from tenure.domain.cancellation import CancellationRecord, CancellationResult, CancellationStatus
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.job import Job
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import Principal
from tenure.domain.stop_options import StopDetails, StopOptions
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, JobNotEnded, NotFound
from tenure.store.calls import control_calls, queries

T = TypeVar("T")

LAST_POLL = 5.0  # seconds to wait for the database when a block ends

log = logging.getLogger("tenure")


class CancellationService:
    """Cancel jobs and their children, and read every stop of a tenant.

    Jobs are named by their id or their key. With a principal the service acts in their name and
    tenant, else as the database user. Records and methods call a child of a job a task.
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
        timeout: Duration | None = None,  # noqa: ASYNC109
        **options: Unpack[StopDetails],
    ) -> CancellationResult:
        """Cancel a job and all below it, and wait until everything has stopped.

        A job that does not exist or has ended is refused without a record. A second call while it
        stops joins the same cancellation. After the timeout JobNotEnded is raised and the stop
        continues.
        """
        chosen: StopOptions = {**options, "force": force or None, "cascade": cascade}
        return await self._cancel(await self._id(job_id), reason, timeout, chosen)

    async def cancel_task(
        self,
        task_id: int | str,
        reason: str | None = None,
        cascade: bool = True,
        *,
        job_id: int | str | None = None,
        force: bool = False,
        timeout: Duration | None = None,  # noqa: ASYNC109
        **options: Unpack[StopDetails],
    ) -> CancellationResult:
        """Cancel one child, and the jobs that come after it unless ``cascade`` is false.

        With ``job_id`` a job that is not below that one is refused.
        """
        task = await self._id(task_id)
        if job_id is not None:
            await self._perform(refuse_stranger(task, await self._id(job_id)))
        chosen: StopOptions = {
            **options,
            "force": force or None,
            "cascade": None if cascade else False,
        }
        return await self._cancel(task, reason, timeout, chosen)

    async def get_cancellation_status(self, job_id: int | str) -> CancellationStatus:
        """Return the status of the latest stop of a job."""
        return (await self.record_of(job_id)).status

    async def get_record(self, cancellation_id: str) -> CancellationRecord:
        """Return the record of a stop."""
        return await self._perform(single(queries.cancellation(cancellation_id)))

    async def record_of(self, job_id: int | str) -> CancellationRecord:
        """Return the record of the latest stop that reached a job."""
        job = await self._id(job_id)
        try:
            return await self._perform(single(queries.cancellation(job=job)))
        except NotFound:
            await self._perform(single(queries.show(job)))  # raises if there is no such job
            raise

    async def list_cancellations(
        self, limit: int = 10, offset: int = 0
    ) -> tuple[CancellationRecord, ...]:
        """Return the latest records, newest first."""
        if limit < 1 or offset < 0:
            raise InputRefused("limit takes 1 or more, and offset 0 or more")
        return await self._perform(single(queries.cancellations(limit, offset)))

    async def rollback(
        self,
        cancellation_id: str,
        tasks: Sequence[int] | None = None,
        reason: str | None = None,
    ) -> int:
        """Undo what all or some children of a cancelled job had completed.

        Return the id of the job that does it.
        """
        undo = control_calls.rollback(cancellation_id, tasks, reason=reason)
        return (await self._perform(single(undo)))["job"]

    async def watch(self, cancellation_id: str) -> AsyncGenerator[CancellationRecord]:
        """Yield a record as it is and at each change, until it is closed."""
        async with (
            Subscription(self._client) as subscription,
            aclosing(subscription.cancellation(self._tenant, cancellation_id)) as records,
        ):
            async for record in records:
                yield record

    async def ends(self) -> AsyncGenerator[CancellationRecord]:
        """Yield every record that is closed from now on, each once; an outage loses none."""
        async with (
            Subscription(self._client) as subscription,
            subscription.ends(self._tenant) as ends,
        ):
            async for record in ends:
                yield record

    @asynccontextmanager
    async def on_end(self, hook: Callable[[CancellationRecord], Any]) -> AsyncIterator[None]:
        """Call the hook with every record that is closed within the block.

        An error of the hook is logged, and the next record is delivered all the same.
        """
        async with (
            Subscription(self._client) as subscription,
            subscription.ends(self._tenant) as ends,
        ):
            delivery = asyncio.create_task(_deliver(hook, ends))
            try:
                yield
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_POLL):
                        await ends.finish()
                        await asyncio.shield(delivery)
            finally:
                delivery.cancel()
                with suppress(asyncio.CancelledError):
                    await delivery

    async def _cancel(
        self,
        job: int,
        reason: str | None,
        timeout: Duration | None,  # noqa: ASYNC109
        options: StopOptions,
    ) -> CancellationResult:
        limit = None if timeout is None else duration(timeout)
        record = await self._perform(stop(job, Intent.CANCEL, reason, **options))
        log = CancellationLog(self._tenant, job)
        log.begin(record)
        if record.completed_at is None:
            async with Subscription(self._client, listen=False) as subscription:
                record = await subscription.closed(self._tenant, record, limit, on_change=log.move)
            if record.completed_at is None:
                waited = in_words(limit or timedelta())
                raise JobNotEnded(
                    f"{record.cancellation_id} is {record.status} after {waited} of waiting"
                )
        else:
            # Read again: the answer to a stop does not name its members.
            record = await self.get_record(record.cancellation_id)
            log.move(record)
        log.end(record)
        return record.result()

    async def _id(self, job: int | str) -> int:
        return await self._perform(job_with_key(job)) if isinstance(job, str) else job

    async def _perform(self, operation: Operation[T]) -> T:
        if self._caller is not None:
            return await self._caller.aperform(operation)
        return await self._client.aperform(operation, self._tenant)


def refuse_stranger(task: int, job: int) -> Operation[None]:
    """Refuse a task that is not below this job."""
    seen: Job = yield queries.show(task)
    yield queries.show(job)
    while seen.parent_id != job:
        if seen.parent_id is None:
            raise NotFound(f"job {job} has no task {task}")
        seen = yield queries.show(seen.parent_id)


async def _deliver(hook: Callable[[CancellationRecord], Any], ends: ClosedRecords) -> None:
    async for record in ends:
        try:
            answer = hook(record)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            log.exception("the hook for the end of %s failed", record.cancellation_id)
