"""The state of the app, and the parameters that many endpoints share."""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Callable, MutableMapping
from typing import Annotated, TypeVar
from weakref import WeakKeyDictionary

from fastapi import Path, Query
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.control.subscription import Subscription
from tenure.errors import JobNotFound
from tenure.observe.metrics import DatabaseMetrics
from tenure.web.authentication import caller_of
from tenure.web.limits import MAX_ID, MAX_ROWS, Quota, RequestLimits
from tenure.web.principals import Authenticator
from tenure.web.readiness import Readiness
from tenure.web.streams import Stream

T = TypeVar("T")

JobId = Annotated[str, Path(description="The id of a job, or its key.", examples=["42"])]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS, description="Maximum number of rows.")]
Below = Annotated[
    int | None, Query(ge=0, le=MAX_ID, description="Only rows with a lower id: the next page.")
]
Above = Annotated[int, Query(ge=0, le=MAX_ID, description="Only rows with a higher id.")]


class AppState:
    """The objects that all requests to an app share."""

    def __init__(self, client: Client, authenticator: Authenticator, limits: RequestLimits) -> None:
        self.client = client
        self.authenticator = authenticator
        self.limits = limits
        self.readiness = Readiness(client)
        self.metrics = DatabaseMetrics(client.settings)
        self.streams = Quota(limits.streams, "event streams open")
        self.requests = Quota(limits.requests, "requests in progress")
        self._subscriptions: MutableMapping[AbstractEventLoop, Subscription] = WeakKeyDictionary()

    async def subscription(self) -> Subscription:
        """Return the subscription of this event loop; open it at the first use.

        A mounted app is not told when it starts.
        """
        loop = get_running_loop()
        if loop not in self._subscriptions:
            self._subscriptions[loop] = Subscription(self.client)
            await self._subscriptions[loop].__aenter__()
        return self._subscriptions[loop]

    async def close(self) -> None:
        """Close the subscription, and with it all streams and waits."""
        subscription = self._subscriptions.pop(get_running_loop(), None)
        if subscription is not None:
            await subscription.__aexit__(None, None, None)


def state_of(request: Request) -> AppState:
    state: AppState = request.app.state.tenure
    return state


def stream(
    request: Request,
    values: AsyncGenerator[T],
    authenticator: Authenticator,
    encode: Callable[[T], bytes],
) -> Stream[T]:
    """Return values as events of a response, which ends when its caller is no longer recognized."""
    quota = state_of(request).streams.hold(caller_of(request).principal)
    return Stream(values, encode, quota, lambda: authenticator.authenticate(request))


def find_job(name: str) -> Operation[int]:
    """Return the id of a job named by its id or its key; digits alone are an id."""
    if not (name.isascii() and name.isdigit()):
        return (yield from job_with_key(name))
    if len(name) > len(str(MAX_ID)) or int(name) > MAX_ID:
        raise JobNotFound(f"there is no job {name[:20]}{'...' * (len(name) > 20)}")
    return int(name)


async def caller_and_job(request: Request, name: str) -> tuple[AuthorizedClient, int]:
    caller = caller_of(request)
    return caller, await caller.aperform(find_job(name))
