"""Event streams that tell a page when to refresh. The page fetches the content itself."""

from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.polling import Event, record_event
from tenure.domain.cancellation import CancellationRecord
from tenure.web.authentication import caller_of
from tenure.web.context import caller_and_job, state_of, stream
from tenure.web.dashboard.sessions import sessions_of
from tenure.web.streams import Events, encode_event, events_of

LAST = "last-event-id"


async def everything(request: Request) -> Response:
    """Send a hint when jobs or stops change."""
    subscription = await state_of(request).subscription()
    after = request.headers.get(LAST)
    return _stream(request, subscription.pulse(caller_of(request), after=after))


async def job(request: Request) -> Response:
    """Send a hint when a job changes, or a stop that includes it."""
    caller, number = await caller_and_job(request, request.path_params["job"])
    subscription = await state_of(request).subscription()
    after = request.headers.get(LAST)
    events = subscription.job_and_stops(caller, number, after=after)
    return _stream(request, events, about=number)


async def cancellation(request: Request) -> Response:
    """Send a hint when a stop record changes, until it is closed."""
    subscription = await state_of(request).subscription()
    name, after = request.path_params["cancellation"], request.headers.get(LAST)
    records = subscription.cancellation(caller_of(request), name, after=after)
    return _stream(request, events_of(records, record_event))


def _stream(request: Request, events: Events, about: int | None = None) -> Response:
    return stream(request, _hints(events, about), sessions_of(request), encode_event)


async def _hints(events: Events, about: int | None) -> Events:
    """Strip events of their values; with ``about``, keep only those about that job."""
    async with aclosing(events):
        async for event in events:
            if about is None or _is_about(event, about):
                yield Event(event.kind, {}, event.id, event.is_last)


def _is_about(event: Event[object], job: int) -> bool:
    record = event.value
    if not isinstance(record, CancellationRecord):
        return True
    return any(member.job_id == job for member in record.members)
