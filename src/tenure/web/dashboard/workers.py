"""Workers: their leases, what they run, and whether they are leaving."""

from datetime import UTC, datetime
from uuid import UUID

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from tenure.errors import NotFound
from tenure.store.calls import queries, worker_calls
from tenure.store.results import Worker
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import form_of
from tenure.web.dashboard.rendering import redirect, render


async def list_workers(request: Request) -> Response:
    caller = caller_of(request)
    mine = caller.principal.tenant.name
    with_gone = "all" in request.query_params
    found = await caller.asend(queries.workers(all=with_gone))
    workers = [
        structs.replace(one, jobs=tuple(job for job in one.jobs if job.tenant == mine))
        for one in found
    ]
    return render(
        request,
        "workers.html",
        workers=workers,
        with_gone=with_gone,
        lease_left=_lease_left,
        every=2,
    )


async def drain_worker(request: Request) -> Response:
    """Ask a worker to finish what runs, take nothing new, and leave."""
    try:
        worker = UUID(request.path_params["worker"])
    except ValueError:
        raise NotFound(f"there is no worker {request.path_params['worker']!r}") from None
    await caller_of(request).asend(worker_calls.drain(worker, form_of(request).reason))
    return redirect(request, "/workers")


def _lease_left(worker: Worker) -> tuple[float, float]:
    """Seconds until its lease ends, and how long a lease is."""
    whole = (worker.expires_at - worker.beat_at).total_seconds()
    left = (worker.expires_at - datetime.now(UTC)).total_seconds()
    return max(left, 0), whole
