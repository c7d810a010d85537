"""The orchestrator's six statuses, and a job as it shows it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from tenure import Job, Status


class JobStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    CANCELLED = "cancelled"


# A job is CANCELLED once its code is gone. Until then it is RUNNING, with `cancel_requested`.
STATUSES: Mapping[Status, JobStatus] = {
    Status.PENDING: JobStatus.PENDING,
    Status.SCHEDULED: JobStatus.PENDING,
    Status.WAITING: JobStatus.PENDING,
    Status.BLOCKED: JobStatus.PENDING,
    Status.QUEUED: JobStatus.PENDING,
    Status.PAUSED: JobStatus.PENDING,
    Status.RETRYING: JobStatus.RETRYING,
    Status.RUNNING: JobStatus.RUNNING,
    Status.CANCELLING: JobStatus.RUNNING,
    Status.PAUSING: JobStatus.RUNNING,
    Status.DRAINING: JobStatus.RUNNING,
    Status.COMPLETED: JobStatus.COMPLETED,
    Status.FAILED: JobStatus.FAILED,
    Status.CANCELLED: JobStatus.CANCELLED,
}


def status_of(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "status": STATUSES[job.status],
        "cancel_requested": job.cancel_requested,
        "worker_id": job.worker_id,
        "heartbeat_at": job.heartbeat_at,
        "lease_expires_at": job.lease_expires_at,
        "retry_count": job.retry_count,
        "max_retries": job.max_retries,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "error_message": job.error_message,
    }
