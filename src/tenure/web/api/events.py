"""Events: one job, one cancellation, or the whole, as they change."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Header
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.polling import job_event, record_event
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED
from tenure.web.authentication import caller_of
from tenure.web.context import JobId, caller_and_job, state_of
from tenure.web.openapi import router, says
from tenure.web.streams import Events, Stream

routes = router("events", "/api")

LastEventId = Annotated[
    str | None, Header(description="The id of the last event that was seen.", max_length=100)
]
_SAYS: dict[str, Any] = says(also={204: None}, wrong=(429,), media="text/event-stream")


@routes.get("/jobs/{job_id}/events", response_class=Response, **_SAYS)
async def job_events(request: Request, job_id: JobId, last_event_id: LastEventId = None) -> Stream:
    """A job as it is, and at each change, until it is completed, failed or cancelled."""
    caller, job = await caller_and_job(request, job_id)
    subscription = await state_of(request).subscription()
    return _stream(request, _jobs(subscription.job(caller, job, after=last_event_id)))


@routes.get("/cancellations/{cancellation_id}/events", response_class=Response, **_SAYS)
async def cancellation_events(
    request: Request, cancellation_id: str, last_event_id: LastEventId = None
) -> Stream:
    """A record as it is, and at each change, until it is closed."""
    subscription = await state_of(request).subscription()
    seen = subscription.cancellation(caller_of(request), cancellation_id, after=last_event_id)
    return _stream(request, _records(seen))


@routes.get("/events", response_class=Response, **_SAYS)
async def events(request: Request, last_event_id: LastEventId = None) -> Stream:
    """The statistics when they change, and every cancellation that begins, moves or ends."""
    subscription = await state_of(request).subscription()
    return _stream(request, subscription.everything(caller_of(request), after=last_event_id))


def _stream(request: Request, told: Events) -> Stream:
    common = state_of(request)
    return Stream(
        told,
        common.streams.hold(caller_of(request).principal),
        lambda: common.authenticator.authenticate(request),
    )


async def _jobs(jobs: AsyncGenerator[Job]) -> Events:
    async with aclosing(jobs):
        async for job in jobs:
            yield job_event(job, job.state in ENDED)


async def _records(records: AsyncGenerator[CancellationRecord]) -> Events:
    async with aclosing(records):
        async for record in records:
            yield record_event(record)
