"""Policies: rules that stop jobs."""

from typing import Any

from tenure.control.authorized_client import AuthorizedClient
from tenure.store.calls import policy_calls, queries
from tenure.store.policy_results import Policy
from tenure.web.models import Dropped, PolicyBody
from tenure.web.routes import Routes

routes = Routes("policies", "/api/policies")


@routes.get("")
async def list_policies(caller: AuthorizedClient) -> tuple[Policy, ...]:
    """List policies by name, with the number of jobs that each has stopped."""
    return await caller.asend(queries.policies())


@routes.put("/{name:path}")
async def set_policy(caller: AuthorizedClient, name: str, body: PolicyBody) -> Policy:
    """Create or replace a policy. An operator may create one for its own job."""
    return await caller.asend(policy_calls.set_policy(name, body.spec(), enabled=body.enabled))


@routes.delete("/{name:path}", returns=Dropped)
async def drop_policy(caller: AuthorizedClient, name: str) -> dict[str, Any]:
    """Delete a policy. Jobs that it has stopped stay stopped."""
    return await caller.asend(policy_calls.drop_policy(name))
