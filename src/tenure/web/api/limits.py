"""Limits: how much may be done in an interval, and how many at once."""

import msgspec

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.options import read_duration
from tenure.errors import NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.limit_results import Limit
from tenure.web.models import CloseBody, Dropped, LimitBody, Opened, ReasonBody
from tenure.web.routes import Routes

routes = Routes("limits", "/api/limits")


@routes.get("")
async def list_limits(caller: AuthorizedClient) -> tuple[Limit, ...]:
    """List limits with the names that they limit: what is left, in use and waiting."""
    return await caller.asend(queries.limits())


@routes.post("/{limit:path}/close")
async def close_limit(caller: AuthorizedClient, limit: str, body: CloseBody) -> Limit:
    """Let a limit, or one name of a template, grant nothing for a time or until it is opened."""
    duration = read_duration("duration", body.duration)
    return await caller.asend(
        control_calls.close_limit(limit, duration=duration, reason=body.reason)
    )


@routes.post("/{limit:path}/open", returns=Opened)
async def open_limit(caller: AuthorizedClient, limit: str, body: ReasonBody) -> dict[str, bool]:
    """Open a limit that is closed."""
    return await caller.asend(control_calls.open_limit(limit, reason=body.reason))


@routes.put("/{limit:path}")
async def set_limit(caller: AuthorizedClient, limit: str, body: LimitBody) -> Limit:
    """Create a limit, or replace it."""
    rates = msgspec.to_builtins(body.rates)
    return await caller.asend(control_calls.set_limit(limit, rates, at_once=body.at_once))


@routes.delete("/{limit:path}", returns=Dropped)
async def delete_limit(caller: AuthorizedClient, limit: str) -> dict[str, str]:
    """Delete a limit; jobs that wait for it may start."""
    return await caller.asend(control_calls.drop_limit(limit))


@routes.get("/{limit:path}")
async def show_limit(caller: AuthorizedClient, limit: str) -> Limit:
    """Show a limit and the names that it limits."""
    found = await caller.asend(queries.limits(limit))
    if not found:
        raise NotFound(f"there is no limit {limit!r}")
    return found[0]
