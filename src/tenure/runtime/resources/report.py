"""The report of a clean-up."""

from datetime import UTC, datetime
from typing import NotRequired, TypedDict


class Failure(TypedDict):
    """A resource that could not be closed."""

    name: str
    error: str
    retry: NotRequired[str]  # the task that will retry


class CleanupReport(TypedDict):
    """The result of a clean-up, as JSON. Times are ISO 8601 in UTC."""

    cleanup_started_at: str
    cleanup_completed_at: str
    cleanup_duration_seconds: float
    graceful_close_succeeded: list[str]
    force_closed: list[str]
    total_resources: int
    cancelled_by: str | None
    cancellation_reason: str | None
    job_status_updated: bool
    job_cancelled_at: str | None
    failed: list[Failure]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
