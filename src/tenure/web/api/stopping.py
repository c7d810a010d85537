"""Stopping jobs, and what lets them go on."""

from typing import Any

from starlette.requests import Request

from tenure.control.job_operations import resume
from tenure.control.operation import Operation
from tenure.domain.cancellation import CancellationRecord, CancellationResult
from tenure.domain.job import Job
from tenure.domain.lifecycle import Intent
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import control_calls, enqueue_calls, queries
from tenure.web import examples
from tenure.web.answers import Answer, place
from tenure.web.asking import JobId, body, job_named, who_and_which
from tenure.web.entrance import caller_of
from tenure.web.models import (
    Cleared,
    QueueBody,
    ResumeBody,
    StatusOfCancellation,
    StopBody,
    Why,
)
from tenure.web.openapi import router, says
from tenure.web.stops import stopped

routes = router("stopping")

_OF_CANCELS = ("cascade", "rollback", "rollback_tasks", "preserve")

_STOPS: dict[str, Any] = {
    "also": {202: CancellationRecord},
    "wrong": (409,),
    "example": examples.RESULT,
}


@routes.post(
    "/api/jobs/{job_id}/cancel",
    **says(CancellationResult, takes=StopBody, sent=examples.CANCEL, **_STOPS),
)
async def cancel_job(request: Request, job_id: JobId) -> Answer:
    """End a job early, and its tasks with it.

    Answered with 200 when everything has stopped; after `wait` (10 s, 60 s at most) with 202 and
    the record, which the header Location names. Asking again is the same `cancellation_id`.
    """
    caller, job = await who_and_which(request, job_id)
    return await stopped(request, caller, job, Intent.CANCEL, await body(request, StopBody))


@routes.post(
    "/api/tasks/{task_id}/cancel",
    **says(CancellationResult, takes=StopBody, sent={"reason": "not needed"}, **_STOPS),
)
async def cancel_task(request: Request, task_id: JobId) -> Answer:
    """End one task of a job early, and with `cascade` also what comes after it."""
    caller, job = await who_and_which(request, task_id)
    return await stopped(request, caller, job, Intent.CANCEL, await body(request, StopBody))


@routes.post(
    "/api/jobs/{job_id}/pause",
    **says(CancellationResult, takes=StopBody, sent={"reason": "lunch"}, **_STOPS),
)
async def pause_job(request: Request, job_id: JobId) -> Answer:
    """Stop a job so that it can go on later, from its checkpoint."""
    caller, job = await who_and_which(request, job_id)
    asked = await body(request, StopBody)
    if names := [name for name in _OF_CANCELS if name in asked.options()]:
        raise InputRefused(f"{names[0]}: for a cancel; a pause does not take it")
    return await stopped(request, caller, job, Intent.PAUSE, asked)


@routes.get(
    "/api/jobs/{job_id}/cancellation-status",
    **says(StatusOfCancellation, example=examples.STATUS),
)
async def cancellation_status(request: Request, job_id: JobId) -> Answer:
    """How far the latest stop of a job has come; 404 if nobody has stopped it."""
    caller, job = await who_and_which(request, job_id)
    record = await caller.asend(queries.cancellation(job=job))
    fields = StatusOfCancellation.__struct_fields__
    return Answer(StatusOfCancellation(**{name: getattr(record, name) for name in fields}))


@routes.post(
    "/api/jobs/{job_id}/resume",
    **says(Job, takes=ResumeBody, sent={"fresh": False}, wrong=(409,), example=examples.JOB),
)
async def resume_job(request: Request, job_id: JobId) -> Answer:
    """Let a paused or failed job go on, from its checkpoint or `fresh`.

    A job that has spent its budget needs a larger `budget`.
    """
    caller, job = await who_and_which(request, job_id)
    asked = await body(request, ResumeBody)
    return Answer(
        await caller.aperform(resume(job, asked.reason, fresh=asked.fresh, budget=asked.budget))
    )


@routes.post(
    "/targets/{target_id:path}/jobs/{job_id}/resume/",
    **says(Job, takes=ResumeBody, sent={"fresh": False}, wrong=(409,), example=examples.JOB),
)
async def resume_job_of_target(request: Request, target_id: str, job_id: JobId) -> Answer:
    """Let a paused or failed job of this target go on; 404 if it is not of this target."""
    asked = await body(request, ResumeBody)

    def steps() -> Operation[Job]:
        job: int = yield from job_named(job_id)
        seen: Job = yield queries.show(job)
        if seen.target != target_id:
            raise NotFound(f"job {job} is not of the target {target_id!r}")
        return (yield from resume(job, asked.reason, fresh=asked.fresh, budget=asked.budget))

    return Answer(await caller_of(request).aperform(steps()))


@routes.post(
    "/api/jobs/{job_id}/clear",
    **says(Cleared, takes=Why, wrong=(409,), example={"cleared": [42]}),
)
async def clear_job(request: Request, job_id: JobId) -> Answer:
    """Give up on a failed job: it is cancelled, and blocks its target no longer."""
    caller, job = await who_and_which(request, job_id)
    asked = await body(request, Why)
    return Answer(await caller.asend(control_calls.clear(job, reason=asked.reason)))


@routes.post(
    "/api/jobs/{job_id}/rerun",
    **says(Job, status=201, takes=Why, example=examples.JOB),
)
async def rerun_job(request: Request, job_id: JobId) -> Answer:
    """A new job with the arguments and options of an old one."""
    caller, job = await who_and_which(request, job_id)
    asked = await body(request, Why)
    made = await caller.asend(control_calls.rerun(job, reason=asked.reason))
    return Answer(made, 201, {"location": place(request, f"/api/jobs/{made.id}")})


@routes.post(
    "/api/jobs/{job_id}/queue",
    **says(Job, takes=QueueBody, wrong=(409,), example=examples.JOB),
)
async def queue_job(request: Request, job_id: JobId) -> Answer:
    """Queue a job that was created but not queued."""
    caller, job = await who_and_which(request, job_id)
    asked = await body(request, QueueBody)
    return Answer(await caller.asend(enqueue_calls.queue(job, run_at=asked.run_at)))
