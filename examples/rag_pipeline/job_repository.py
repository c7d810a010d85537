"""The orchestrator's job repository: leases, zombies, cancellation requests, statistics."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from examples.rag_pipeline.job_status import STATUSES, JobStatus
from tenure import Job, Status, Tenure
from tenure.errors import InputRefused, LeaseLost
from tenure.verbs import Ending, Holding


@dataclass(frozen=True)
class JobLease:
    """A job that a worker holds; the token proves it."""

    job_id: int
    worker_id: UUID
    token: int
    task: str
    args: Mapping[str, Any]


class JobRepository:
    """Jobs and their leases, for code that asks about jobs or runs them without Tenure's worker.

    A worker has one lease for all its jobs. It gets a new id (``uuid4()``) at each start.
    """

    def __init__(self, app: Tenure) -> None:
        self._app = app
        self._workers: set[UUID] = set()

    async def acquire_job_lease(
        self, worker_id: UUID, lease_duration: int = 300
    ) -> JobLease | None:
        """Start the next pending job for this worker; None if there is none."""
        store = await self._app.astore_of()
        if worker_id not in self._workers:
            lease = timedelta(seconds=lease_duration)
            await store.register(worker_id, socket.gethostname(), os.getpid(), lease)
            self._workers.add(worker_id)
        claim = await store.claim(worker_id, 1)
        if not claim.alive:
            raise LeaseLost(f"worker {worker_id} was declared dead; start again under a new id")
        if not claim.jobs:
            return None
        [job] = claim.jobs
        return JobLease(job.id, worker_id, job.token, job.task, job.args)

    async def update_heartbeat(self, lease: JobLease) -> bool:
        """Extend the lease by its whole duration; False if the job has been recovered."""
        store = await self._app.astore_of()
        holding = Holding(store.tenant.name, lease.job_id, lease.token)
        renewal = await store.renew(lease.worker_id, [holding])
        return renewal.alive and not renewal.lost

    async def release_job_lease(
        self,
        lease: JobLease,
        status: JobStatus = JobStatus.PENDING,
        *,
        result: Any = None,
        error: str | None = None,
    ) -> bool:
        """End the attempt with this status; False if the job is not this worker's any more."""
        store = await self._app.astore_of()
        ending = Ending(
            job=lease.job_id,
            token=lease.token,
            outcome=_outcome_of(status),
            value=result,
            error=None if error is None else {"type": "Error", "message": error},
            heard=status is JobStatus.CANCELLED,
        )
        finished = await store.finish(lease.worker_id, [ending])
        return lease.job_id in finished.accepted

    async def get_zombie_jobs(self) -> list[Job]:
        """Return running jobs whose lease has expired, without touching them."""
        store = await self._app.astore_of()
        settings = self._app.settings
        found = await store.recover(
            grace=settings.recover_grace, orphan_after=settings.orphan_after, dry_run=True
        )
        return [await store.show(zombie.job) for zombie in found.recovered]

    async def recover_zombie_job(self, job_id: int) -> bool:
        """Take a zombie from its worker: back to PENDING, or FAILED without retries left."""
        store = await self._app.astore_of()
        settings = self._app.settings
        recovery = await store.recover(
            grace=settings.recover_grace, orphan_after=settings.orphan_after, ids=[job_id]
        )
        return any(recovered.job == job_id for recovered in recovery.recovered)

    async def check_cancellation_requested(self, job_id: int) -> bool:
        return await self._app.acheck_cancellation_requested(job_id)

    async def get_job_statistics(self) -> dict[JobStatus, int]:
        """Return the number of jobs in each status, zeros included."""
        store = await self._app.astore_of()
        counts = dict.fromkeys(JobStatus, 0)
        for status, count in (await store.statistics()).by_status.items():
            counts[STATUSES[Status(status)]] += count
        return counts


def _outcome_of(status: JobStatus) -> Literal["completed", "failed", "stopped", "released"]:
    match status:
        case JobStatus.COMPLETED:
            return "completed"
        case JobStatus.FAILED:
            return "failed"
        case JobStatus.CANCELLED:
            return "stopped"
        case JobStatus.PENDING:
            return "released"
    raise InputRefused(
        f"a lease is released as completed, failed, cancelled or pending, not as {status}"
    )
