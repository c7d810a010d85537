"""The orchestrator's job manager, built on Tenure."""

import os
from typing import Any, Self

from examples.rag_pipeline.job_status import status_of
from tenure import Settings, Tenure, Worker
from tenure.stops import CancellationRecord


class JobManager:
    """Runs, watches and cancels jobs: ``async with job_manager:`` runs them until the block ends.

    Both intervals are in seconds. TENURE_BEAT and TENURE_LEASE in the environment override them,
    so that a deployment can be tuned without a change of code.
    """

    def __init__(self, heartbeat_interval: int = 30, lease_duration: int = 300) -> None:
        defaults = {
            "TENURE_BEAT": f"{heartbeat_interval}s",
            "TENURE_LEASE": f"{lease_duration}s",
            "TENURE_DRAIN_GRACE": "30s",  # for active jobs, when a worker is asked to leave
        }
        self.app = Tenure(settings=Settings.from_environment({**defaults, **os.environ}))
        self._worker: Worker | None = None

    def cancel_job(self, job_id: int, reason: str | None = None) -> CancellationRecord:
        """Request the cancellation of a pending or running job; the request is durable at once."""
        return self.app.handle(job_id).cancel(reason)

    async def get_job_status(self, job_id: int) -> dict[str, Any]:
        return status_of(await self.app.handle(job_id).ajob())

    @property
    def is_running(self) -> bool:
        """Return True while the manager accepts jobs."""
        return self._worker is not None

    async def start(self) -> None:
        worker = self.app.worker()
        await worker.start()
        self._worker = worker

    async def shutdown(self) -> None:
        """Accept no more jobs, give active ones 30 seconds, and release the rest to others."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.drain()
        await self.app.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()
