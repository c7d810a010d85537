"""Workers and their runners."""

from typing import Any
from uuid import UUID

from msgspec import structs

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.job_operations import end_runner
from tenure.store.calls import queries, worker_calls
from tenure.store.results import RunnerEnding, WorkerInfo
from tenure.web.models import Draining, EndRunnerBody, ReasonBody
from tenure.web.routes import Routes

routes = Routes("workers", "/api/workers")


@routes.get("")
async def list_workers(caller: AuthorizedClient, all: bool = False) -> list[WorkerInfo]:  # noqa: A002
    """List live workers with the jobs of this tenant that each holds; with `all` also dead ones."""
    return await workers_of_tenant(caller, all=all)


@routes.post("/{worker_id}/drain", returns=Draining)
async def drain_worker(
    caller: AuthorizedClient, worker_id: UUID, body: ReasonBody
) -> dict[str, Any]:
    """Ask a worker to finish its running jobs, claim no more, and exit."""
    return await caller.asend(worker_calls.drain(worker_id, reason=body.reason))


@routes.post("/runners/{runner_id}/end")
async def end_a_runner(
    caller: AuthorizedClient, runner_id: str, body: EndRunnerBody
) -> RunnerEnding:
    """End a runner, a process in which a worker runs jobs.

    All jobs in it are stopped and return to their queues without spending an attempt. An operator
    may end a runner that runs only its own jobs.
    """
    return await caller.aperform(
        end_runner(runner_id, body.reason, force=body.force, grace=body.grace)
    )


async def workers_of_tenant(caller: AuthorizedClient, *, all: bool) -> list[WorkerInfo]:  # noqa: A002
    """Return workers, with only those of their jobs that belong to the tenant of the caller."""
    tenant = caller.principal.tenant.name
    return [
        structs.replace(worker, jobs=tuple(job for job in worker.jobs if job.tenant == tenant))
        for worker in await caller.asend(queries.workers(all=all))
    ]
