"""One job: what it is, how its stop goes on, its time, and all that it left."""

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, State
from tenure.domain.values import nearest_float
from tenure.errors import NotFound
from tenure.store.calls import queries
from tenure.web.artifacts import Download, open_artifact
from tenure.web.context import caller_and_job
from tenure.web.dashboard import strip
from tenure.web.dashboard.actions import actions, may_control
from tenure.web.dashboard.formatting import exact
from tenure.web.dashboard.jobs import how_far
from tenure.web.dashboard.rendering import render
from tenure.web.dashboard.timeline import timeline

_MOST_CHILDREN = 200
_MOST_LINES = 500
_MOST_PARTIALS = 50
_LOOK_SELDOM = 10  # seconds
_LOOK_EVERY = 2  # seconds, at what no event tells of: log lines, beats, children


async def show_job(request: Request) -> Response:
    caller, number = await caller_and_job(request, request.path_params["job"])
    job = await caller.asend(queries.show(number))
    record = await _record(caller, job)
    children = await caller.asend(queries.list_jobs({"parent": job.id}, n=_MOST_CHILDREN))
    below = await _alive_below(caller, job, children)
    partials = await caller.asend(queries.job_output(number, "partials", n=_MOST_PARTIALS))
    events = await caller.asend(queries.job_output(number, "events", n=_MOST_PARTIALS))
    trail = await caller.asend(queries.audit_log("job", str(number), n=_MOST_PARTIALS))
    lines = await caller.asend(queries.job_output(number, "logs", n=_MOST_LINES + 1, newest=True))
    may_inspect = may_control(caller.principal, job) and job.state is State.RUNNING
    settings = caller.client.settings
    is_over = job.state in ENDED and (record is None or record.completed_at is not None)
    return render(
        request,
        "job.html",
        job=job,
        record=record,
        cells=strip.strip(record, job, settings) if record else (),
        coming=strip.next_of(record, job, settings) if record else None,
        went_on=strip.went_on(record, job, trail) if record else None,
        explanation=await caller.asend(queries.explain(number)),
        children=children,
        actions=actions(caller.principal, job, below),
        strategies=await caller.asend(queries.strategies()),
        logs=lines[-_MOST_LINES:],
        log_is_longer=len(lines) > _MOST_LINES,
        may_inspect=may_inspect,
        inspection=await caller.asend(queries.inspection(number)) if may_inspect else None,
        partials=partials,
        timeline=timeline(job, record, children, partials, events),
        audit_log=trail,
        facts=tuple(_facts(job)),
        how_far=how_far,
        live=None if is_over else f"/jobs/{number}/live",
        # Somebody may resume what has failed, long afterwards.
        every=_LOOK_EVERY if not is_over else _LOOK_SELDOM if job.state is State.FAILED else None,
    )


async def artifact(request: Request) -> Response:
    """One of the files it kept, to be saved."""
    caller, number = await caller_and_job(request, request.path_params["job"])
    name = request.path_params["name"]
    seen = await caller.asend(queries.show(number))
    if name not in [each["name"] for each in seen.artifacts]:
        raise NotFound(f"job {number} has no artifact {name!r}")
    settings, tenant = caller.client.settings, caller.principal.tenant
    return Download(name, await open_artifact(settings, tenant, number, name))


async def _record(caller: AuthorizedClient, job: Job) -> CancellationRecord | None:
    """Its latest stop, as far as there was one."""
    try:
        return await caller.asend(queries.cancellation(job=job.id))
    except NotFound:
        return None


async def _alive_below(caller: AuthorizedClient, job: Job, children: tuple[Job, ...]) -> int:
    if job.state in ENDED or not children:
        return 0
    tree: tuple[Job, ...] = children
    if job.id == job.root_id:
        tree = await caller.asend(queries.list_jobs({"root": job.id}, n=1000))
    return sum(one.state not in ENDED and one.id != job.id for one in tree)


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    told = {
        "Queue": job.queue + (f", priority {job.priority}" if job.priority else ""),
        "Target": job.target,
        "Parent": job.parent_id,
        "Comes after": ", ".join(f"{need['job_id']} ({need['policy']})" for need in job.needs),
        "Slots": ", ".join(job.slots),
        "Due": exact(job.run_at) if job.state is State.PENDING else None,
        "Started": exact(job.started_at),
        "Ended": exact(job.completed_at),
        "Worker": job.worker_id,
        "Last beat": exact(job.heartbeat_at) if job.worker_id else None,
        "Lease ends": exact(job.lease_expires_at) if job.worker_id else None,
        "Spent": _spent(job),
    }
    return ((name, str(value)) for name, value in told.items() if value)


def _spent(job: Job) -> str:
    limits: Any = job.budget or {}
    units = {**dict.fromkeys(limits, 0.0), **job.spent}
    return ", ".join(
        f"{amount:g} {unit}" + (f" of {nearest_float(limits[unit]):g}" if unit in limits else "")
        for unit, amount in units.items()
    )
