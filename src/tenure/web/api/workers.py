"""Workers."""

from uuid import UUID

from msgspec import structs
from starlette.requests import Request

from tenure.control.job_operations import end_runner
from tenure.store.calls import queries, worker_calls
from tenure.store.results import RunnerEnding, Worker
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import read_body
from tenure.web.models import Draining, EndRunnerBody, ReasonBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse
from tenure.web.stops import length

routes = router("workers", "/api/workers")


@routes.get("", **says(tuple[Worker, ...], example=[examples.WORKER]))
async def list_workers(request: Request, all: bool = False) -> JsonResponse:  # noqa: A002
    """Workers that live, and which jobs of this tenant each holds; with `all` also the dead."""
    caller = caller_of(request)
    mine = caller.principal.tenant.name
    workers = await caller.asend(queries.workers(all=all))
    return JsonResponse(
        [
            structs.replace(one, jobs=tuple(job for job in one.jobs if job.tenant == mine))
            for one in workers
        ]
    )


@routes.post(
    "/{worker_id}/drain",
    **says(Draining, takes=ReasonBody, sent={"reason": "new host"}, example=examples.DRAIN),
)
async def drain_worker(request: Request, worker_id: UUID) -> JsonResponse:
    """Ask a worker to finish what runs, take nothing new, and leave."""
    asked = await read_body(request, ReasonBody)
    return JsonResponse(
        await caller_of(request).asend(worker_calls.drain(worker_id, reason=asked.reason))
    )


@routes.post(
    "/runners/{runner_id}/end",
    **says(
        RunnerEnding,
        takes=EndRunnerBody,
        sent={"reason": "it leaks", "grace": "20s"},
        example=examples.RUNNER_ENDING,
    ),
)
async def end_a_runner(request: Request, runner_id: str) -> JsonResponse:
    """End a runner, a process in which a worker runs jobs.

    All jobs in it are stopped and given back, unspent, to go on elsewhere. An operator may end one
    in which only jobs of its own run.
    """
    asked = await read_body(request, EndRunnerBody)
    how = end_runner(runner_id, asked.reason, force=asked.force, grace=length("grace", asked.grace))
    return JsonResponse(await caller_of(request).aperform(how))
