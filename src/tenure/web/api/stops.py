"""Stopping jobs, and what lets them go on."""

from typing import Any

from starlette.requests import Request

from tenure.control.job_operations import resume
from tenure.control.operation import Operation
from tenure.domain.cancellation import CancellationRecord, CancellationResult
from tenure.domain.job import Job
from tenure.domain.lifecycle import Intent
from tenure.errors import NotFound
from tenure.store.calls import control_calls, enqueue_calls, queries
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import JobId, caller_and_job, find_job, read_body
from tenure.web.models import (
    CancelBody,
    CancellationProgress,
    Cleared,
    QueueBody,
    ReasonBody,
    ResumeBody,
    StopBody,
)
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, location
from tenure.web.stops import stopped

routes = router("stopping")

_STOPS: dict[str, Any] = {
    "also": {202: CancellationRecord},
    "wrong": (409,),
    "example": examples.RESULT,
}


@routes.post(
    "/api/jobs/{job_id}/cancel",
    **says(CancellationResult, takes=CancelBody, sent=examples.CANCEL, **_STOPS),
)
async def cancel_job(request: Request, job_id: JobId) -> JsonResponse:
    """End a job early, and its tasks with it.

    Answered with 200 when everything has stopped; after `wait` (10 s, 60 s at most) with 202 and
    the record, which the header Location names. Asking again is the same `cancellation_id`.
    """
    caller, job = await caller_and_job(request, job_id)
    return await stopped(request, caller, job, Intent.CANCEL, await read_body(request, CancelBody))


@routes.post(
    "/api/tasks/{task_id}/cancel",
    **says(CancellationResult, takes=CancelBody, sent={"reason": "not needed"}, **_STOPS),
)
async def cancel_task(request: Request, task_id: JobId) -> JsonResponse:
    """End one task of a job early, and with `cascade` also what comes after it."""
    caller, job = await caller_and_job(request, task_id)
    return await stopped(request, caller, job, Intent.CANCEL, await read_body(request, CancelBody))


@routes.post(
    "/api/jobs/{job_id}/pause",
    **says(CancellationResult, takes=StopBody, sent={"reason": "lunch"}, **_STOPS),
)
async def pause_job(request: Request, job_id: JobId) -> JsonResponse:
    """Stop a job so that it can go on later, from its checkpoint."""
    caller, job = await caller_and_job(request, job_id)
    return await stopped(request, caller, job, Intent.PAUSE, await read_body(request, StopBody))


@routes.get(
    "/api/jobs/{job_id}/cancellation-status",
    **says(CancellationProgress, example=examples.STATUS),
)
async def cancellation_status(request: Request, job_id: JobId) -> JsonResponse:
    """How far the latest stop of a job has come; 404 if nobody has stopped it."""
    caller, job = await caller_and_job(request, job_id)
    record = await caller.asend(queries.cancellation(job=job))
    fields = CancellationProgress.__struct_fields__
    return JsonResponse(CancellationProgress(**{name: getattr(record, name) for name in fields}))


@routes.post(
    "/api/jobs/{job_id}/resume",
    **says(Job, takes=ResumeBody, sent={"fresh": False}, wrong=(409,), example=examples.JOB),
)
async def resume_job(request: Request, job_id: JobId) -> JsonResponse:
    """Let a paused or failed job go on, from its checkpoint or `fresh`.

    A job that has spent its budget needs a larger `budget`.
    """
    caller, job = await caller_and_job(request, job_id)
    asked = await read_body(request, ResumeBody)
    return JsonResponse(
        await caller.aperform(resume(job, asked.reason, fresh=asked.fresh, budget=asked.budget))
    )


@routes.post(
    "/targets/{target_id:path}/jobs/{job_id}/resume/",
    **says(Job, takes=ResumeBody, sent={"fresh": False}, wrong=(409,), example=examples.JOB),
)
async def resume_job_of_target(request: Request, target_id: str, job_id: JobId) -> JsonResponse:
    """Let a paused or failed job of this target go on; 404 if it is not of this target."""
    asked = await read_body(request, ResumeBody)

    def steps() -> Operation[Job]:
        job: int = yield from find_job(job_id)
        seen: Job = yield queries.show(job)
        if seen.target != target_id:
            raise NotFound(f"job {job} is not of the target {target_id!r}")
        return (yield from resume(job, asked.reason, fresh=asked.fresh, budget=asked.budget))

    return JsonResponse(await caller_of(request).aperform(steps()))


@routes.post(
    "/api/jobs/{job_id}/clear",
    **says(Cleared, takes=ReasonBody, wrong=(409,), example={"cleared": [42]}),
)
async def clear_job(request: Request, job_id: JobId) -> JsonResponse:
    """Give up on a failed job: it is cancelled, and blocks its target no longer."""
    caller, job = await caller_and_job(request, job_id)
    asked = await read_body(request, ReasonBody)
    return JsonResponse(await caller.asend(control_calls.clear(job, reason=asked.reason)))


@routes.post(
    "/api/jobs/{job_id}/rerun",
    **says(Job, status=201, takes=ReasonBody, example=examples.JOB),
)
async def rerun_job(request: Request, job_id: JobId) -> JsonResponse:
    """A new job with the arguments and options of an old one."""
    caller, job = await caller_and_job(request, job_id)
    asked = await read_body(request, ReasonBody)
    made = await caller.asend(control_calls.rerun(job, reason=asked.reason))
    return JsonResponse(made, 201, {"location": location(request, f"/api/jobs/{made.id}")})


@routes.post(
    "/api/jobs/{job_id}/queue",
    **says(Job, takes=QueueBody, wrong=(409,), example=examples.JOB),
)
async def queue_job(request: Request, job_id: JobId) -> JsonResponse:
    """Queue a job that was created but not queued."""
    caller, job = await caller_and_job(request, job_id)
    asked = await read_body(request, QueueBody)
    return JsonResponse(await caller.asend(enqueue_calls.queue(job, run_at=asked.run_at)))
