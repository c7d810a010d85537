"""How a crawl learns that it was cancelled."""

from dataclasses import dataclass
from typing import Protocol

from tenure import State, Tenure


@dataclass(frozen=True)
class Cancellation:
    cancelled_by: str | None = None
    reason: str | None = None


class CancellationFlag(Protocol):
    async def get(self, job_id: int | str) -> Cancellation | None:
        """Return who cancelled a job and why; None while nobody has."""


@dataclass(frozen=True)
class CrawlerSettings:
    tenant: str = "default"  # whose jobs they are


class JobCancellationFlag:
    """The flag of each job, in the database: it is set in the transaction of the cancellation."""

    def __init__(self, client: Tenure, settings: CrawlerSettings | None = None) -> None:
        self._client = client
        self._settings = settings or CrawlerSettings()

    async def set(
        self, job_id: int | str, cancelled_by: str | None = None, reason: str | None = None
    ) -> None:
        handle = await self._client.ahandle(job_id, tenant=self._settings.tenant)
        await handle.acancel(reason, by=cancelled_by)

    async def get(self, job_id: int | str) -> Cancellation | None:
        handle = await self._client.ahandle(job_id, tenant=self._settings.tenant)
        job = await handle.ajob()
        if job.cancel_requested or job.state is State.CANCELLED:
            return Cancellation(job.cancelled_by, job.cancellation_reason)
        return None
