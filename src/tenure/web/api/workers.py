"""Workers."""

from uuid import UUID

from msgspec import structs
from starlette.requests import Request

from tenure.control.job_operations import end_runner
from tenure.store.calls import queries, worker_calls
from tenure.store.results import RunnerEnding, WorkerInfo
from tenure.web import examples
from tenure.web.answers import Answer
from tenure.web.asking import body
from tenure.web.entrance import caller_of
from tenure.web.models import Draining, EndRunnerBody, Why
from tenure.web.openapi import router, says

routes = router("workers", "/api/workers")


@routes.get("", **says(tuple[WorkerInfo, ...], example=[examples.WORKER]))
async def list_workers(request: Request, all: bool = False) -> Answer:  # noqa: A002
    """Workers that live, and which jobs of this tenant each holds; with `all` also the dead."""
    caller = caller_of(request)
    mine = caller.principal.tenant.name
    workers = await caller.asend(queries.workers(all=all))
    return Answer(
        [
            structs.replace(one, jobs=tuple(job for job in one.jobs if job.tenant == mine))
            for one in workers
        ]
    )


@routes.post(
    "/{worker_id}/drain",
    **says(Draining, takes=Why, sent={"reason": "new host"}, example=examples.DRAIN),
)
async def drain_worker(request: Request, worker_id: UUID) -> Answer:
    """Ask a worker to finish what runs, take nothing new, and leave."""
    asked = await body(request, Why)
    return Answer(
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
async def end_a_runner(request: Request, runner_id: str) -> Answer:
    """End a runner, a process in which a worker runs jobs.

    All jobs in it are stopped and given back, unspent, to go on elsewhere. An operator may end one
    in which only jobs of its own run.
    """
    asked = await body(request, EndRunnerBody)
    how = end_runner(runner_id, asked.reason, force=asked.force, grace=asked.grace)
    return Answer(await caller_of(request).aperform(how))
