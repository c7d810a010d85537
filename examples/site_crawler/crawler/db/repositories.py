"""The crawl jobs, as they are on record."""

from datetime import UTC, datetime
from typing import Any

from tenure import Job, Tenure
from tenure.errors import IllegalTransition
from tenure.resources import CleanupReport


class CrawlJobRepository:
    """Crawl jobs by their id, or by their key; the connection is the app's."""

    def __init__(self, connection: Tenure) -> None:
        self._app = connection

    async def get(self, job_id: int | str) -> Job:
        """Return a job, with cancelled_at, cancelled_by and cancellation_reason."""
        return await (await self._app.ahandle(job_id)).ajob()

    async def cancel(
        self, job_id: int | str, cancelled_by: str | None = None, reason: str | None = None
    ) -> bool:
        """Cancel a job in one transaction; False if it has ended in another way."""
        handle = await self._app.ahandle(job_id)
        try:
            await handle.acancel(reason, by=cancelled_by)
        except IllegalTransition:
            return await handle.astatus() == "cancelled"
        return True

    async def cleanup_metadata(self, job_id: int | str) -> dict[str, Any]:
        """Return the report of a job's cleanup, and who cancelled it, why and when."""
        job = await self.get(job_id)
        known = {
            **(job.cleanup or {}),
            "cancelled_by": job.cancelled_by,
            "cancellation_reason": job.cancellation_reason,
            "job_status_updated": job.cancelled_at is not None,
            "job_cancelled_at": None if job.cancelled_at is None else in_utc(job.cancelled_at),
        }
        return {key: known[key] for key in CleanupReport.__annotations__ if key in known}


def in_utc(moment: datetime) -> str:
    """Return a time as ISO 8601 in UTC, such as 2025-11-06T12:00:05.123Z."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
