"""Policies: rules by which jobs are stopped."""

from starlette.requests import Request

from tenure.store.calls import policy_calls, queries
from tenure.store.ruled import Policy
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import read_body
from tenure.web.models import Dropped, PolicyBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse

routes = router("policies", "/api/policies")


@routes.get("", **says(tuple[Policy, ...], example=[examples.POLICY]))
async def list_policies(request: Request) -> JsonResponse:
    """Policies by name, and how many jobs each has stopped."""
    return JsonResponse(await caller_of(request).asend(queries.policies()))


@routes.put(
    "/{name:path}",
    **says(
        Policy,
        takes=PolicyBody,
        sent=examples.POLICY["spec"],
        example=examples.POLICY,
    ),
)
async def set_policy(request: Request, name: str) -> JsonResponse:
    """Make or change a policy; an operator may make one for a job of its own."""
    asked = await read_body(request, PolicyBody)
    return JsonResponse(
        await caller_of(request).asend(
            policy_calls.set_policy(name, asked.spec(), enabled=asked.enabled)
        )
    )


@routes.delete("/{name:path}", **says(Dropped, wrong=(415,), example={"dropped": "stale"}))
async def drop_policy(request: Request, name: str) -> JsonResponse:
    """Delete a policy; what it has stopped stays stopped."""
    return JsonResponse(await caller_of(request).asend(policy_calls.drop_policy(name)))
