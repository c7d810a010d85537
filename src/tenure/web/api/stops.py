"""Stop jobs, and resume, clear, rerun or queue them."""

from typing import Any

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.job_operations import resume
from tenure.control.operation import Operation
from tenure.control.questions import rerun
from tenure.domain.cancellation import CancellationRecord, CancellationResult
from tenure.domain.job import Job
from tenure.domain.lifecycle import Intent
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import control_calls, enqueue_calls, queries
from tenure.web.context import JobId, find_job
from tenure.web.models import (
    CancellationProgress,
    Cleared,
    QueueBody,
    ReasonBody,
    RerunBody,
    ResumeBody,
    StopBody,
)
from tenure.web.responses import JsonResponse, location
from tenure.web.routes import JobNumber, Routes
from tenure.web.stops import Stopped, stop_and_wait

routes = Routes("stopping")

_ONLY_CANCEL = ("cascade", "rollback", "rollback_tasks", "preserve")
_STOPS: dict[str, Any] = {
    "returns": CancellationResult,
    "also": {202: CancellationRecord},
    "errors": (409,),
}


@routes.post("/api/jobs/{job_id}/cancel", **_STOPS)
async def cancel_job(
    request: Request, caller: AuthorizedClient, job_id: JobNumber, body: StopBody
) -> Stopped:
    """Cancel a job and its children.

    Answers 200 when everything has stopped. After `wait` (default 10 s, maximum 60 s) answers 202
    with the stop record, which the header Location names. Repeating the request returns the same
    `cancellation_id`.
    """
    return await stop_and_wait(request, caller, job_id, Intent.CANCEL, body)


@routes.post("/api/tasks/{task_id}/cancel", **_STOPS)
async def cancel_task(
    request: Request, caller: AuthorizedClient, task_id: JobNumber, body: StopBody
) -> Stopped:
    """Cancel one child of a job, and with `cascade` the jobs that depend on it."""
    return await stop_and_wait(request, caller, task_id, Intent.CANCEL, body)


@routes.post("/api/jobs/{job_id}/pause", **_STOPS)
async def pause_job(
    request: Request, caller: AuthorizedClient, job_id: JobNumber, body: StopBody
) -> Stopped:
    """Stop a job so that it can be resumed later from its checkpoint."""
    if names := [name for name in _ONLY_CANCEL if name in body.options()]:
        raise InputRefused(f"{names[0]}: only for a cancel; a pause does not take it")
    return await stop_and_wait(request, caller, job_id, Intent.PAUSE, body)


@routes.get("/api/jobs/{job_id}/cancellation-status")
async def cancellation_status(caller: AuthorizedClient, job_id: JobNumber) -> CancellationProgress:
    """Show the progress of the latest stop of a job; 404 if it was never stopped."""
    record = await caller.asend(queries.cancellation(job=job_id))
    fields = CancellationProgress.__struct_fields__
    return CancellationProgress(**{name: getattr(record, name) for name in fields})


@routes.post("/api/jobs/{job_id}/resume", errors=(409,))
async def resume_job(caller: AuthorizedClient, job_id: JobNumber, body: ResumeBody) -> Job:
    """Resume a paused or failed job, from its checkpoint or `fresh`.

    A job that has spent its budget needs a larger `budget`. Its code finds `value` in
    `ctx.resume_value`.
    """
    return await caller.aperform(_resume(job_id, body))


@routes.post("/targets/{target_id:path}/jobs/{job_id}/resume/", errors=(409,))
async def resume_job_of_target(
    caller: AuthorizedClient, target_id: str, job_id: JobId, body: ResumeBody
) -> Job:
    """Resume a paused or failed job of this target; 404 if its target is another."""

    def operation() -> Operation[Job]:
        job: int = yield from find_job(job_id)
        seen: Job = yield queries.show(job)
        if seen.target != target_id:
            raise NotFound(f"job {job} does not have the target {target_id!r}")
        return (yield from _resume(job, body))

    return await caller.aperform(operation())


@routes.post("/api/jobs/{job_id}/clear", returns=Cleared, errors=(409,))
async def clear_job(
    caller: AuthorizedClient, job_id: JobNumber, body: ReasonBody
) -> dict[str, Any]:
    """Cancel a failed job, so that it no longer blocks its target."""
    return await caller.asend(control_calls.clear(job_id, reason=body.reason))


@routes.post("/api/jobs/{job_id}/rerun", status=201)
async def rerun_job(
    request: Request, caller: AuthorizedClient, job_id: JobNumber, body: RerunBody
) -> JsonResponse[Job]:
    """Enqueue a new job with the arguments and options of another, or also its earlier steps."""
    job = await caller.aperform(
        rerun(job_id, body.reason, from_step=body.from_step, steps=body.steps)
    )
    return JsonResponse(job, 201, location(request, f"/api/jobs/{job.id}"))


@routes.post("/api/jobs/{job_id}/queue", errors=(409,))
async def queue_job(caller: AuthorizedClient, job_id: JobNumber, body: QueueBody) -> Job:
    """Queue a job that was created without being queued."""
    return await caller.asend(enqueue_calls.queue(job_id, run_at=body.run_at))


def _resume(job: int, body: ResumeBody) -> Operation[Job]:
    return resume(job, body.reason, fresh=body.fresh, budget=body.budget, value=body.value)
