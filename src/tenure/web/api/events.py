"""Event streams: of a job, of what it puts out, of a stop record, or of everything."""

from typing import Annotated, Any

from fastapi import Header, Query
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.polling import job_event, record_event
from tenure.domain.lifecycle import ENDED
from tenure.web.context import state_of, stream
from tenure.web.routes import JobNumber, Routes
from tenure.web.streams import encode_batch, encode_event, events_of

routes = Routes("events", "/api")

LastEventId = Annotated[
    str | None, Header(description="The id of the last event received.", max_length=100)
]
After = Annotated[
    str, Query(description="Begin after this event or partial result.", max_length=100)
]
_STREAM: dict[str, Any] = {"also": {204: None}, "errors": (429,), "media": "text/event-stream"}


@routes.get("/jobs/{job_id}/events", **_STREAM)
async def job_events(
    request: Request,
    caller: AuthorizedClient,
    job_id: JobNumber,
    last_event_id: LastEventId = None,
) -> Response:
    """Stream a job: its current state, then each change until it has ended."""
    state = state_of(request)
    jobs = (await state.subscription()).job(caller, job_id, after=last_event_id)
    events = events_of(jobs, lambda job: job_event(job, job.state in ENDED))
    return stream(request, events, state.authenticator, encode_event)


@routes.get("/jobs/{job_id}/stream", **_STREAM)
async def job_stream(
    request: Request,
    caller: AuthorizedClient,
    job_id: JobNumber,
    after: After = "0",
    last_event_id: LastEventId = None,
) -> Response:
    """Stream what a job puts out: partial results, log lines, progress, status, until its end.

    A client that reconnects with the id of the last event misses nothing and gets nothing twice.
    """
    state = state_of(request)
    batches = (await state.subscription()).stream(caller, job_id, after=last_event_id or after)
    return stream(request, batches, state.authenticator, encode_batch)


@routes.get("/cancellations/{cancellation_id}/events", **_STREAM)
async def cancellation_events(
    request: Request,
    caller: AuthorizedClient,
    cancellation_id: str,
    last_event_id: LastEventId = None,
) -> Response:
    """Stream a stop record: its current state, then each change until it is closed."""
    state = state_of(request)
    subscription = await state.subscription()
    records = subscription.cancellation(caller, cancellation_id, after=last_event_id)
    return stream(request, events_of(records, record_event), state.authenticator, encode_event)


@routes.get("/events", **_STREAM)
async def events(
    request: Request, caller: AuthorizedClient, last_event_id: LastEventId = None
) -> Response:
    """Stream the statistics as they change, and every stop that begins, advances or ends."""
    state = state_of(request)
    events = (await state.subscription()).everything(caller, after=last_event_id)
    return stream(request, events, state.authenticator, encode_event)
