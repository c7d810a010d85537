"""Event streams: of a job, of a stop record, or of everything."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Header
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.polling import job_event, record_event
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED
from tenure.web.authentication import caller_of
from tenure.web.context import state_of
from tenure.web.routes import JobNumber, Routes
from tenure.web.streams import Events, Stream

routes = Routes("events", "/api")

LastEventId = Annotated[
    str | None, Header(description="The id of the last event received.", max_length=100)
]
_STREAM: dict[str, Any] = {"also": {204: None}, "errors": (429,), "media": "text/event-stream"}


@routes.get("/jobs/{job_id}/events", **_STREAM)
async def job_events(
    request: Request,
    caller: AuthorizedClient,
    job_id: JobNumber,
    last_event_id: LastEventId = None,
) -> Stream:
    """Stream a job: its current state, then each change until it has ended."""
    subscription = await state_of(request).subscription()
    return _stream(request, _jobs(subscription.job(caller, job_id, after=last_event_id)))


@routes.get("/cancellations/{cancellation_id}/events", **_STREAM)
async def cancellation_events(
    request: Request,
    caller: AuthorizedClient,
    cancellation_id: str,
    last_event_id: LastEventId = None,
) -> Stream:
    """Stream a stop record: its current state, then each change until it is closed."""
    subscription = await state_of(request).subscription()
    records = subscription.cancellation(caller, cancellation_id, after=last_event_id)
    return _stream(request, _records(records))


@routes.get("/events", **_STREAM)
async def events(
    request: Request, caller: AuthorizedClient, last_event_id: LastEventId = None
) -> Stream:
    """Stream the statistics as they change, and every stop that begins, advances or ends."""
    subscription = await state_of(request).subscription()
    return _stream(request, subscription.everything(caller, after=last_event_id))


def _stream(request: Request, events: Events) -> Stream:
    state = state_of(request)
    return Stream(
        events,
        state.streams.hold(caller_of(request).principal),
        lambda: state.authenticator.authenticate(request),
    )


async def _jobs(jobs: AsyncGenerator[Job]) -> Events:
    async with aclosing(jobs):
        async for job in jobs:
            yield job_event(job, job.state in ENDED)


async def _records(records: AsyncGenerator[CancellationRecord]) -> Events:
    async with aclosing(records):
        async for record in records:
            yield record_event(record)
