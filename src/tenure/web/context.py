"""What every handler begins with: in whose name, about which job, with what in its body."""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import MutableMapping
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
from tenure.web import limits
from tenure.web.authentication import caller_of
from tenure.web.limits import MOST_ID, MOST_ON_A_PAGE, Quota, RequestLimits
from tenure.web.principals import Authenticator
from tenure.web.readiness import Readiness

T = TypeVar("T")

JobId = Annotated[str, Path(description="The id of a job, or its key.", examples=["42"])]
Limit = Annotated[int, Query(ge=1, le=MOST_ON_A_PAGE, description="The most on one page.")]
Below = Annotated[
    int | None, Query(ge=0, le=MOST_ID, description="Only what has a lower id: the next page.")
]
Above = Annotated[int, Query(ge=0, le=MOST_ID, description="Only what has a higher id.")]


class AppState:
    """What all requests to one app have in common."""

    def __init__(self, client: Client, authenticator: Authenticator, limits: RequestLimits) -> None:
        self.client = client
        self.authenticator = authenticator
        self.limits = limits
        self.readiness = Readiness(client)
        self.metrics = DatabaseMetrics(client.settings)
        self.streams = Quota(limits.streams, "streams of events open")
        self.requests = Quota(limits.requests, "requests under way")
        self._subscriptions: MutableMapping[AbstractEventLoop, Subscription] = WeakKeyDictionary()

    async def subscription(self) -> Subscription:
        """That of this event loop, opened at the first use.

        An app that is mounted is not told when it begins.
        """
        loop = get_running_loop()
        if loop not in self._subscriptions:
            self._subscriptions[loop] = Subscription(self.client)
            await self._subscriptions[loop].__aenter__()
        return self._subscriptions[loop]

    async def close(self) -> None:
        """End what is watched, and with it all streams and waits."""
        subscription = self._subscriptions.pop(get_running_loop(), None)
        if subscription is not None:
            await subscription.__aexit__(None, None, None)


def state_of(request: Request) -> AppState:
    kept: AppState = request.app.state.tenure
    return kept


async def read_body(request: Request, kind: type[T]) -> T:
    return await limits.read_body(request, kind, state_of(request).limits)


def find_job(named: str) -> Operation[int]:
    """The id of a job by its id or its key; what has digits alone is an id."""
    if not (named.isascii() and named.isdigit()):
        return (yield from job_with_key(named))
    if len(named) > len(str(MOST_ID)) or int(named) > MOST_ID:
        raise JobNotFound(f"there is no job {named[:20]}{'...' * (len(named) > 20)}")
    return int(named)


async def caller_and_job(request: Request, named: str) -> tuple[AuthorizedClient, int]:
    caller = caller_of(request)
    return caller, await caller.aperform(find_job(named))
