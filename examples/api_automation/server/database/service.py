"""Jobs in the database. Any process may call these functions: the database decides who is first.

``tenant_schema`` is the tenant whose jobs are meant. With a ``user``, a call is made in their name:
only the owner of a job or an admin may control it. Without one it is made by the server itself.
"""

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import TypeVar
from uuid import uuid4

from examples.api_automation.server.utils.job_execution import (
    TENANTS,
    app,
    execute_api_in_background_with_tenant,
)
from tenure import NEVER, Job, State, verbs
from tenure.auth import Principal
from tenure.verbs import Call, Claimed, Ending, Holding

T = TypeVar("T")

WORKER_ID = uuid4()  # of this process, if it claims jobs by itself


async def create_job(
    target_id: str, urls: Sequence[str], tenant_schema: str, owner: str | None = None
) -> Job:
    """Create a job that is PENDING until it is enqueued."""
    task = execute_api_in_background_with_tenant.using(
        tenant=tenant_schema, owner=owner, run_at=NEVER
    )
    return await (await task.aenqueue(target_id, urls)).ajob()


async def enqueue_job(job_id: int, tenant_schema: str, user: Principal | None = None) -> Job:
    """Move a PENDING job to QUEUED."""
    return await _send(verbs.queue(job_id), tenant_schema, user)


async def get_job(job_id: int, tenant_schema: str) -> Job:
    return await _send(verbs.show(job_id), tenant_schema)


async def list_jobs(target_id: str, tenant_schema: str) -> Sequence[Job]:
    """Return the latest 50 jobs of a target, newest first, with their answers."""
    listed = await _send(verbs.list_jobs({"target": target_id}, n=50), tenant_schema)
    return await asyncio.gather(*(get_job(job.id, tenant_schema) for job in listed))


async def request_job_cancel(
    job_id: int, tenant_schema: str = TENANTS[0], user: Principal | None = None
) -> Job:
    """Set cancel_requested: the worker that has the job interrupts it, and it becomes PAUSED."""
    await _send(verbs.stop(job_id), tenant_schema, user)
    return await get_job(job_id, tenant_schema)


async def resume_job(job_id: int, tenant_schema: str, user: Principal | None = None) -> Job:
    """Move a PAUSED or ERROR job to QUEUED."""
    return await _send(verbs.resume(job_id), tenant_schema, user)


async def clear_job(job_id: int, tenant_schema: str, user: Principal | None = None) -> Job:
    """Give up on a PAUSED or ERROR job: it is CANCELED, and its target continues."""
    job = await get_job(job_id, tenant_schema)
    if job.state is State.PAUSED:
        await _send(verbs.stop(job_id, force=True), tenant_schema, user)
    else:
        await _send(verbs.clear(job_id), tenant_schema, user)
    return await get_job(job_id, tenant_schema)


async def expire_stale_running_jobs() -> list[int]:
    """Mark RUNNING jobs whose lease is over as ERROR, and return their ids.

    The workers do this every 2 s; it is here for a cron job or a person.
    """
    settings, expired = app.settings, []
    for tenant in TENANTS:
        recovery = await (await app.astore_of(tenant)).recover(
            grace=settings.recover_grace,
            orphan_after=settings.orphan_after,
            message=settings.orphan_message,
        )
        expired += [recovered.job for recovered in recovery.recovered]
    return expired


# For a program that executes jobs in its own way, without the worker of this server.


async def claim_next_job(tenant_schema: str) -> Claimed | None:
    """Claim the oldest QUEUED job whose target is free, under the lease of WORKER_ID.

    The lease lasts 6 s and must be renewed; a job that was claimed ends with ``finish_job``.
    """
    store = await app.astore_of(tenant_schema)
    await store.promote()  # a target may have become free
    claim = await store.claim(WORKER_ID, 1)
    if not claim.alive:
        # Refused, with a sentence, if the lease of this process ran out: it has to start again.
        await store.register(WORKER_ID, socket.gethostname(), os.getpid(), app.settings.lease)
        claim = await store.claim(WORKER_ID, 1)
    return claim.jobs[0] if claim.jobs else None


async def renew_job_lease(job: Claimed, tenant_schema: str) -> bool:
    """Renew the lease of a claimed job; False if it is not this process's any more: stop it then.

    ``get_job(...).cancel_requested`` tells whether somebody wants it to stop.
    """
    store = await app.astore_of(tenant_schema)
    renewal = await store.renew(WORKER_ID, [Holding(tenant_schema, job.id, job.token)])
    return renewal.alive and not renewal.lost


async def finish_job(job: Claimed, answers: Sequence[str], tenant_schema: str) -> Job:
    """End a claimed job: PAUSED if somebody asked for a cancel, else SUCCESS."""
    paused = (await get_job(job.id, tenant_schema)).cancel_requested
    ending = Ending(
        job=job.id,
        token=job.token,
        outcome="stopped" if paused else "completed",
        value=None if paused else list(answers),
    )
    await (await app.astore_of(tenant_schema)).finish(WORKER_ID, [ending])
    return await get_job(job.id, tenant_schema)


async def _send(call: Call[T], tenant_schema: str, user: Principal | None = None) -> T:
    if user is not None:
        return await app.acting_as(user).asend(call)
    return await (await app.astore_of(tenant_schema)).send(call)
