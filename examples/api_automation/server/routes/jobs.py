"""The routes of jobs. Every path answers with the same shape, and with seven words as status."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException
from pydantic import BaseModel
from starlette.requests import Request

from examples.api_automation.server.database import service
from examples.api_automation.server.utils.job_execution import TENANTS
from tenure import Job, State, Tenant
from tenure.auth import Principal, Role

INTERRUPTED = "Job was interrupted by user"

router = APIRouter(prefix="/targets/{target_id}/jobs")


class JobStatus(StrEnum):
    PENDING = "PENDING"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    ERROR = "ERROR"
    SUCCESS = "SUCCESS"
    CANCELED = "CANCELED"

    @classmethod
    def of(cls, job: Job) -> "JobStatus":
        """Return the word for a job; whatever a queued job waits for, it is QUEUED."""
        match job.state:
            case State.PENDING:
                return cls.PENDING if job.status == "pending" else cls.QUEUED
            case State.RUNNING:
                return cls.RUNNING
            case State.PAUSED:
                return cls.PAUSED
            case State.FAILED:
                return cls.ERROR
            case State.COMPLETED:
                return cls.SUCCESS
            case State.CANCELLED:
                return cls.CANCELED


class JobView(BaseModel):
    """A job, as every path of this service shows it."""

    id: int
    target: str
    status: JobStatus
    lease_owner: str | None
    lease_expires_at: datetime | None
    cancel_requested: bool
    message: str | None
    answers: list[str]

    @classmethod
    def of(cls, job: Job) -> "JobView":
        status = JobStatus.of(job)
        reason = job.cancellation_reason or INTERRUPTED
        messages = {
            JobStatus.PAUSED: reason,
            JobStatus.CANCELED: reason,
            JobStatus.ERROR: job.error_message,
        }
        checkpoint: dict[str, Any] = job.checkpoint or {}
        return cls(
            id=job.id,
            target=str(job.target),
            status=status,
            lease_owner=job.lease_owner,
            lease_expires_at=job.lease_expires_at,
            cancel_requested=job.cancel_requested,
            message=messages.get(status),
            answers=job.result or checkpoint.get("answers", []),
        )


async def caller(request: Request) -> Principal:
    """Return who asks: everybody of a tenant is an operator. A real service asks its login."""
    tenant, user = request.headers.get("X-Tenant"), request.headers.get("X-User")
    if tenant not in TENANTS or not user:
        raise HTTPException(401, "the headers X-Tenant and X-User must say who asks")
    return Principal(user, Role.OPERATOR, Tenant(tenant))


User = Annotated[Principal, Depends(caller)]


async def job_of_target(target_id: str, job_id: int, user: User) -> Job:
    """Return a job, if it is one of this target and of the caller's tenant."""
    job = await service.get_job(job_id, user.tenant.name)
    if job.target != target_id:
        raise HTTPException(404, f"there is no job {job_id} for the target {target_id}")
    return job


JobOfTarget = Annotated[Job, Depends(job_of_target)]


@router.post("/", status_code=201)
async def create(target_id: str, urls: list[str], user: User) -> JobView:
    job = await service.create_job(target_id, urls, user.tenant.name, owner=user.name)
    return JobView.of(await service.enqueue_job(job.id, user.tenant.name, user))


@router.get("/")
async def list_all(target_id: str, user: User) -> list[JobView]:
    return [JobView.of(job) for job in await service.list_jobs(target_id, user.tenant.name)]


@router.get("/{job_id}/")
async def show(job: JobOfTarget) -> JobView:
    return JobView.of(job)


@router.post("/{job_id}/cancel/")
async def cancel(job: JobOfTarget, user: User) -> JobView:
    return JobView.of(await service.request_job_cancel(job.id, user.tenant.name, user))


@router.post("/{job_id}/resume/")
async def resume(job: JobOfTarget, user: User) -> JobView:
    return JobView.of(await service.resume_job(job.id, user.tenant.name, user))


@router.post("/{job_id}/clear/")
async def clear(job: JobOfTarget, user: User) -> JobView:
    return JobView.of(await service.clear_job(job.id, user.tenant.name, user))
