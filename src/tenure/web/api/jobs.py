"""Jobs: in, listed, and seen from all sides."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Header, Query
from starlette.requests import Request

from tenure.control.by_name import JobRequest, enqueued_by_name
from tenure.control.inspection import inspect
from tenure.domain.inspection import Inspection
from tenure.domain.job import Job
from tenure.domain.lifecycle import State, Status
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.results import Enqueued, Explanation, JobRunner
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import Below, JobId, Limit, caller_and_job, read_body, state_of
from tenure.web.limits import MOST_ON_A_PAGE
from tenure.web.models import InspectBody, NewJobBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, location, paged
from tenure.web.stops import bound

routes = router("jobs", "/api/jobs")

Asked = NewJobBody | list[NewJobBody]
Made = Enqueued | tuple[Enqueued, ...]


@routes.post(
    "",
    **says(
        Made,
        status=201,
        also={200: Made},
        takes=Asked,
        sent=examples.NEW_JOB,
        example=examples.ENQUEUED,
        wrong=(409,),
    ),
)
async def enqueue(
    request: Request, idempotency_key: Annotated[str | None, Header(max_length=500)] = None
) -> JsonResponse:
    """Enqueue a job, or several together, with their dependencies.

    The same Idempotency-Key again answers 200 with the same job. Jobs of one list may name one
    another by their keys, in `parent` and in `after`.
    """
    caller = caller_of(request)
    asked: Asked = await read_body(request, Asked)  # type: ignore[arg-type]
    several = [asked] if isinstance(asked, NewJobBody) else asked
    if NewJobBody() in several:
        raise InputRefused(
            "a job has a task, or a key by which its tasks name it; this has nothing"
        )
    if not 1 <= len(several) <= MOST_ON_A_PAGE:
        raise InputRefused(f"one request enqueues 1 to {MOST_ON_A_PAGE} jobs")
    if idempotency_key is not None and len(several) != 1:
        raise InputRefused("an Idempotency-Key stands for one job; give each its `idempotency`")
    again = {"idempotency": idempotency_key} if idempotency_key else {}
    await caller.arequire("enqueue")  # before anything is looked up
    client = state_of(request).client
    wanted = [
        JobRequest(job.task, job.args, {**job.said(), **again}, job.unannounced) for job in several
    ]
    made = await caller.aperform(enqueued_by_name(client, wanted))
    if isinstance(asked, NewJobBody):
        [job] = made
        where = {"location": location(request, f"/api/jobs/{job.id}")}
        return JsonResponse(job, 201 if job.created else 200, where)
    return JsonResponse(made, 201 if any(job.created for job in made) else 200)


@routes.get("", **says(tuple[Job, ...], example=[examples.JOB]))
async def list_jobs(
    request: Request,
    status: Annotated[
        list[Status] | None, Query(description="Any of these; may be repeated.")
    ] = None,
    state: State | None = None,
    queue: str | None = None,
    task: str | None = None,
    target: str | None = None,
    owner: str | None = None,
    tag: Annotated[list[str] | None, Query(description="All of these; may be repeated.")] = None,
    key: str | None = None,
    parent: Annotated[int | None, Query(ge=0, le=(1 << 63) - 1)] = None,
    root: Annotated[int | None, Query(ge=0, le=(1 << 63) - 1)] = None,
    worker: UUID | None = None,
    text: Annotated[
        list[str] | None,
        Query(description="Something in the arguments; all of these; may be repeated."),
    ] = None,
    since: Annotated[datetime | None, Query(description="Created at or after this.")] = None,
    until: Annotated[datetime | None, Query(description="Created before this.")] = None,
    below: Below = None,
    limit: Limit = 50,
) -> JsonResponse:
    """Jobs, newest first, that match every filter that is given."""
    filters = {
        "status": status,
        "state": state,
        "queue": queue,
        "task": task,
        "target": target,
        "owner": owner,
        "tag": tag,
        "key": key,
        "parent": parent,
        "root": root,
        "worker": worker,
        "text": text,
        "since": _timestamp("since", since),
        "until": _timestamp("until", until),
    }
    given = {name: value for name, value in filters.items() if value is not None}
    jobs = await caller_of(request).asend(queries.list_jobs(given, below=below, n=limit))
    return paged(request, jobs, limit, jobs[-1].id if jobs else None)


@routes.get("/{job_id}", **says(Job, example=examples.JOB))
async def show_job(request: Request, job_id: JobId) -> JsonResponse:
    """One job with all that is known of it."""
    caller, job = await caller_and_job(request, job_id)
    return JsonResponse(await caller.asend(queries.show(job)))


@routes.get("/{job_id}/explain", **says(Explanation, example=examples.EXPLANATION))
async def explain_job(request: Request, job_id: JobId) -> JsonResponse:
    """Why it is not running, or not stopping."""
    caller, job = await caller_and_job(request, job_id)
    return JsonResponse(await caller.asend(queries.explain(job)))


@routes.post(
    "/{job_id}/inspect",
    **says(
        Inspection,
        takes=InspectBody,
        sent={"wait": "5s"},
        wrong=(409, 504),
        example=examples.INSPECTION,
    ),
)
async def inspect_job(request: Request, job_id: JobId) -> JsonResponse:
    """Where the code of a running job is right now, and what its processes take.

    For whoever may stop it. Answered with 504 if its worker is silent for longer than `wait` (5 s,
    60 s at most).
    """
    caller, job = await caller_and_job(request, job_id)
    asked = await read_body(request, InspectBody)
    return JsonResponse(await caller.aperform(inspect(job, bound(asked.wait))))


@routes.get("/{job_id}/runners", **says(tuple[JobRunner, ...], example=[examples.RUNNER]))
async def list_runners(request: Request, job_id: JobId) -> JsonResponse:
    """The runners in which it or anything below it runs, as of the last beat of their worker."""
    caller, job = await caller_and_job(request, job_id)
    return JsonResponse(await caller.asend(queries.runners(job)))


@routes.get("/{job_id}/tasks", **says(tuple[Job, ...], example=[examples.JOB]))
async def list_tasks(
    request: Request, job_id: JobId, below: Below = None, limit: Limit = 50
) -> JsonResponse:
    """The jobs whose parent it is, newest first."""
    caller, job = await caller_and_job(request, job_id)
    tasks = await caller.asend(queries.list_jobs({"parent": job}, below=below, n=limit))
    if not tasks:
        await caller.asend(queries.show(job))
    return paged(request, tasks, limit, tasks[-1].id if tasks else None)


def _timestamp(name: str, moment: datetime | None) -> str | None:
    if moment is not None and moment.tzinfo is None:
        raise InputRefused(f"{name}: {moment.isoformat()} has no time zone; give it one")
    return None if moment is None else moment.isoformat()
