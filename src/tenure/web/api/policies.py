"""Policies: rules by which jobs are stopped."""

from starlette.requests import Request

from tenure.store.calls import policy_calls, queries
from tenure.store.policy_results import Policy
from tenure.web import examples
from tenure.web.answers import Answer
from tenure.web.asking import body
from tenure.web.entrance import caller_of
from tenure.web.models import Dropped, PolicyBody
from tenure.web.openapi import router, says

routes = router("policies", "/api/policies")


@routes.get("", **says(tuple[Policy, ...], example=[examples.POLICY]))
async def list_policies(request: Request) -> Answer:
    """Policies by name, and how many jobs each has stopped."""
    return Answer(await caller_of(request).asend(queries.policies()))


@routes.put(
    "/{name:path}",
    **says(
        Policy,
        takes=PolicyBody,
        sent=examples.POLICY["spec"],
        example=examples.POLICY,
    ),
)
async def set_policy(request: Request, name: str) -> Answer:
    """Make or change a policy; an operator may make one for a job of its own."""
    asked = await body(request, PolicyBody)
    return Answer(
        await caller_of(request).asend(
            policy_calls.set_policy(name, asked.spec(), enabled=asked.enabled)
        )
    )


@routes.delete("/{name:path}", **says(Dropped, wrong=(415,), example={"dropped": "stale"}))
async def drop_policy(request: Request, name: str) -> Answer:
    """Delete a policy; what it has stopped stays stopped."""
    return Answer(await caller_of(request).asend(policy_calls.drop_policy(name)))
