"""Jobs: enqueue, list, show, explain and inspect them."""

from datetime import datetime
from typing import Annotated, Literal, TypedDict, Unpack
from uuid import UUID

from fastapi import Header, Query
from pydantic import Field
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.by_name import JobRequest, enqueued_by_name
from tenure.control.inspection import inspect
from tenure.domain.inspection import Inspection
from tenure.domain.job import Job
from tenure.domain.lifecycle import State, Status
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.results import Enqueued, Explanation, JobRunner
from tenure.web.context import Below, Limit
from tenure.web.limits import MAX_ID, MAX_ROWS
from tenure.web.models import InspectBody, NewJobBody, NewJobs
from tenure.web.responses import JsonResponse, location, paged
from tenure.web.routes import JobNumber, Routes
from tenure.web.stops import read_wait

routes = Routes("jobs", "/api/jobs")

EnqueuedJobs = Enqueued | tuple[Enqueued, ...]
Id = Annotated[int, Field(ge=0, le=MAX_ID)]


class JobFilters(TypedDict):
    """The filters of the list of jobs, in the query of a request."""

    id: Annotated[list[Id] | None, Query(description="Any of these; may be repeated.")]
    status: Annotated[list[Status] | None, Query(description="Any of these; may be repeated.")]
    state: State | None
    queue: str | None
    task: str | None
    target: str | None
    owner: str | None
    tag: Annotated[list[str] | None, Query(description="All of these; may be repeated.")]
    key: str | None
    parent: Annotated[
        Id | Literal["none"] | None, Query(description="A job; `none`: jobs without a parent.")
    ]
    root: Id | None
    worker: UUID | None
    text: Annotated[
        list[str] | None,
        Query(description="Text in the arguments; all of these; may be repeated."),
    ]
    since: Annotated[datetime | None, Query(description="Created at or after this.")]
    until: Annotated[datetime | None, Query(description="Created before this.")]


@routes.post("", status=201, returns=EnqueuedJobs, also={200: EnqueuedJobs}, errors=(409,))
async def enqueue(
    request: Request,
    caller: AuthorizedClient,
    body: NewJobs,
    idempotency_key: Annotated[str | None, Header(max_length=500)] = None,
) -> JsonResponse[EnqueuedJobs]:
    """Enqueue a job, or a list of jobs with their dependencies.

    Repeating an Idempotency-Key answers 200 with the same job. Jobs of one list may refer to each
    other by key, in `parent` and in `after`.
    """
    jobs = [body] if isinstance(body, NewJobBody) else body
    if NewJobBody() in jobs:
        raise InputRefused("a job needs a task, or a key to which its children refer")
    if not 1 <= len(jobs) <= MAX_ROWS:
        raise InputRefused(f"one request enqueues 1 to {MAX_ROWS} jobs")
    if idempotency_key is not None and len(jobs) != 1:
        raise InputRefused("Idempotency-Key is for a single job; set `idempotency` on each job")
    again = {"idempotency": idempotency_key} if idempotency_key else {}
    await caller.arequire("enqueue")  # before anything is looked up
    requests = [
        JobRequest(job.task, job.args, {**job.options(), **again}, job.unannounced) for job in jobs
    ]
    made = await caller.aperform(enqueued_by_name(caller.client, requests))
    status = 201 if any(job.created for job in made) else 200
    if isinstance(body, NewJobBody):
        return JsonResponse(made[0], status, location(request, f"/api/jobs/{made[0].id}"))
    return JsonResponse(made, status)


@routes.get("", returns=tuple[Job, ...])
async def list_jobs(
    request: Request,
    caller: AuthorizedClient,
    below: Below = None,
    limit: Limit = 50,
    **filters: Unpack[JobFilters],
) -> JsonResponse[tuple[Job, ...]]:
    """List the jobs that match all given filters, newest first."""
    given = {name: value for name, value in filters.items() if value is not None}
    jobs = await caller.asend(queries.list_jobs(given, below=below, n=limit))
    return paged(request, jobs, limit)


@routes.get("/{job_id}")
async def show_job(caller: AuthorizedClient, job_id: JobNumber) -> Job:
    """Show a job with all its fields."""
    return await caller.asend(queries.show(job_id))


@routes.get("/{job_id}/explain")
async def explain_job(caller: AuthorizedClient, job_id: JobNumber) -> Explanation:
    """Explain why a job is not running, or not stopping."""
    return await caller.asend(queries.explain(job_id))


@routes.post("/{job_id}/inspect", errors=(409, 504))
async def inspect_job(caller: AuthorizedClient, job_id: JobNumber, body: InspectBody) -> Inspection:
    """Show the stacks of a running job, and the CPU and memory of its processes.

    The caller must be allowed to stop the job. Answers 504 if the worker does not respond within
    `wait` (default 5 s, maximum 60 s).
    """
    return await caller.aperform(inspect(job_id, read_wait(body.wait)))


@routes.get("/{job_id}/runners")
async def list_runners(caller: AuthorizedClient, job_id: JobNumber) -> tuple[JobRunner, ...]:
    """List the runners of a job and of all jobs below it, as of the last heartbeat."""
    return await caller.asend(queries.runners(job_id))


@routes.get("/{job_id}/tasks", returns=tuple[Job, ...])
async def list_tasks(
    request: Request,
    caller: AuthorizedClient,
    job_id: JobNumber,
    below: Below = None,
    limit: Limit = 50,
) -> JsonResponse[tuple[Job, ...]]:
    """List the children of a job, newest first."""
    jobs = await caller.asend(queries.list_jobs({"parent": job_id}, below=below, n=limit))
    if not jobs:
        await caller.asend(queries.show(job_id))
    return paged(request, jobs, limit)
