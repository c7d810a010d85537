"""The schedules of the app that the server was started with."""

from typing import Any

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.schedule import Schedule
from tenure.control.schedule_runs import (
    ScheduleInfo,
    described,
    find_schedule,
    run_at_once,
    schedules_of,
)
from tenure.store.calls import control_calls
from tenure.store.results import Enqueued
from tenure.web.models import Paused, ReasonBody, RunBody
from tenure.web.routes import Routes

routes = Routes("schedules", "/api/schedules")


@routes.get("")
async def list_schedules(caller: AuthorizedClient) -> tuple[ScheduleInfo, ...]:
    """List the schedules of the app, with their next times; none if the server has no app."""
    return await caller.aperform(described(visible_schedules(caller)))


@routes.post("/{name:path}/pause", returns=Paused)
async def pause_schedule(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Let this schedule enqueue no jobs until it is resumed. Its running jobs continue."""
    return await caller.asend(control_calls.pause_dispatch("schedule", name, reason=body.reason))


@routes.post("/{name:path}/resume", returns=Paused)
async def resume_schedule(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Resume a paused schedule. Times that it missed are not made up for."""
    return await caller.asend(control_calls.resume_dispatch("schedule", name, reason=body.reason))


@routes.post("/{name:path}/run", status=201)
async def run_schedule(caller: AuthorizedClient, name: str, body: RunBody) -> Enqueued:
    """Enqueue a job of this schedule at once, beside its usual times.

    If its jobs may not overlap and one has not ended, the answer is 409, unless `beside` is true.
    """
    await caller.arequire("enqueue")
    schedule = find_schedule(visible_schedules(caller), name)
    return await caller.aperform(run_at_once(schedule, beside=body.beside))


def visible_schedules(caller: AuthorizedClient) -> list[Schedule]:
    return schedules_of(caller.principal.tenant, caller.client.schedules.values())
