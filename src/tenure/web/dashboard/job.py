"""The page of a job: its state, its stop, its timeline and its output."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.inspection import Inspection
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, State
from tenure.domain.values import nearest_float
from tenure.errors import NotFound
from tenure.store.calls import queries
from tenure.web.api.output import download_artifact
from tenure.web.context import caller_and_job
from tenure.web.dashboard import strip
from tenure.web.dashboard.formatting import exact
from tenure.web.dashboard.job_actions import may_control, offered
from tenure.web.dashboard.jobs import progress_of
from tenure.web.dashboard.rendering import render
from tenure.web.dashboard.timeline import timeline
from tenure.web.streams import cancel

AT_ONCE = 4  # queries of one page
_MAX_CHILDREN = 200
_MAX_LINES = 500
_MAX_ROWS = 50
_REFRESH_FAILED = 10  # seconds: a failed job may be resumed long afterwards
_REFRESH = 2  # seconds, for what no event reports: log lines, heartbeats, children


async def show_job(request: Request) -> Response:
    caller, number = await caller_and_job(request, request.path_params["job"])
    job = await caller.asend(queries.show(number))
    may_inspect = may_control(caller.principal, job) and job.state is State.RUNNING
    (
        record,
        (children, below),
        partials,
        events,
        audit_log,
        lines,
        explanation,
        strategies,
        inspection,
    ) = await _together(
        _record(caller, job),
        _children(caller, job),
        caller.asend(queries.job_output(number, "partials", n=_MAX_ROWS)),
        caller.asend(queries.job_output(number, "events", n=_MAX_ROWS)),
        caller.asend(queries.audit_log("job", str(number), n=_MAX_ROWS)),
        caller.asend(queries.job_output(number, "logs", n=_MAX_LINES + 1, newest=True)),
        caller.asend(queries.explain(number)),
        caller.asend(queries.strategies()),
        _inspection(caller, number if may_inspect else None),
    )
    settings = caller.client.settings
    is_final = job.state in ENDED and (record is None or record.completed_at is not None)
    refresh = _REFRESH_FAILED if job.state is State.FAILED else None
    return render(
        request,
        "job.html",
        job=job,
        record=record,
        cells=strip.strip(record, job, settings) if record else (),
        coming=strip.next_of(record, job, settings) if record else None,
        resumption=strip.resumption(record, job, audit_log) if record else None,
        explanation=explanation,
        children=children,
        below=below,
        actions=offered(caller.principal, job),
        strategies=strategies,
        logs=lines[-_MAX_LINES:],
        log_is_longer=len(lines) > _MAX_LINES,
        may_inspect=may_inspect,
        inspection=inspection,
        partials=partials,
        timeline=timeline(job, record, children, partials, events),
        audit_log=audit_log,
        facts=tuple(_facts(job)),
        progress_of=progress_of,
        live=None if is_final else f"/jobs/{number}/live",
        every=refresh if is_final else _REFRESH,
    )


async def artifact(request: Request) -> Response:
    """Download an artifact of a job."""
    caller, number = await caller_and_job(request, request.path_params["job"])
    return await download_artifact(caller, number, request.path_params["name"])


async def _together(*queries: Coroutine[Any, Any, Any]) -> list[Any]:
    """Await several queries, a few at a time; if one fails, cancel the others."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def limited(query: Coroutine[Any, Any, Any]) -> Any:
        async with limit:
            return await query

    tasks = [asyncio.ensure_future(limited(query)) for query in queries]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task, query in zip(tasks, queries, strict=True):
            if not task.done():
                await cancel(task)
            query.close()  # it may not have started


async def _record(caller: AuthorizedClient, job: Job) -> CancellationRecord | None:
    """Return the latest stop of a job, if there was one."""
    try:
        return await caller.asend(queries.cancellation(job=job.id))
    except NotFound:
        return None


async def _inspection(caller: AuthorizedClient, job: int | None) -> Inspection | None:
    return None if job is None else await caller.asend(queries.inspection(job))


async def _children(caller: AuthorizedClient, job: Job) -> tuple[tuple[Job, ...], int]:
    """Return the children of a job, and how many jobs below it have not ended."""
    children = await caller.asend(queries.list_jobs({"parent": job.id}, n=_MAX_CHILDREN))
    if job.state in ENDED or not children:
        return children, 0
    tree = children
    if job.id == job.root_id:
        tree = await caller.asend(queries.list_jobs({"root": job.id}, n=1000))
    return children, sum(each.state not in ENDED and each.id != job.id for each in tree)


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    facts = {
        "Queue": job.queue + (f", priority {job.priority}" if job.priority else ""),
        "Target": job.target,
        "Parent": job.parent_id,
        "Comes after": ", ".join(f"{need['job_id']} ({need['policy']})" for need in job.needs),
        "Slots": ", ".join(job.slots),
        "Due": exact(job.run_at) if job.state is State.PENDING else None,
        "Started": exact(job.started_at),
        "Ended": exact(job.completed_at),
        "Worker": job.worker_id,
        "Last heartbeat": exact(job.heartbeat_at) if job.worker_id else None,
        "Lease ends": exact(job.lease_expires_at) if job.worker_id else None,
        "Spent": _spent(job),
    }
    return ((name, str(value)) for name, value in facts.items() if value)


def _spent(job: Job) -> str:
    limits: Any = job.budget or {}
    units = {**dict.fromkeys(limits, 0.0), **job.spent}
    return ", ".join(
        f"{amount:g} {unit}" + (f" of {nearest_float(limits[unit]):g}" if unit in limits else "")
        for unit, amount in units.items()
    )
