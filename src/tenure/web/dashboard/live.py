"""Event streams that tell a page when to refresh, and the numbers of its sidebar.

The page fetches everything else itself.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.polling import Event, record_event
from tenure.domain.cancellation import CancellationRecord
from tenure.web.authentication import caller_of
from tenure.web.context import caller_and_job, state_of, stream
from tenure.web.dashboard.sessions import sessions_of
from tenure.web.dashboard.sidebar import SIDEBARS, Sidebars
from tenure.web.streams import FIRST_WAIT, Events, Stream, cancel, encode_event, events_of

LAST = "last-event-id"

Chunks = AsyncGenerator[bytes]


async def everything(request: Request) -> Response:
    """Send a hint when jobs or stops change."""
    subscription = await state_of(request).subscription()
    after = request.headers.get(LAST)
    return await _stream(request, subscription.pulse(caller_of(request), after=after))


async def job(request: Request) -> Response:
    """Send a hint when a job changes, or a stop that includes it."""
    caller, number = await caller_and_job(request, request.path_params["job"])
    subscription = await state_of(request).subscription()
    after = request.headers.get(LAST)
    events = subscription.job_and_stops(caller, number, after=after)
    return await _stream(request, events, about=number)


async def cancellation(request: Request) -> Response:
    """Send a hint when a stop record changes, until it is closed."""
    subscription = await state_of(request).subscription()
    name, after = request.path_params["cancellation"], request.headers.get(LAST)
    records = subscription.cancellation(caller_of(request), name, after=after)
    return await _stream(request, events_of(records, record_event))


async def _stream(request: Request, events: Events, about: int | None = None) -> Stream[bytes]:
    sidebars: Sidebars = request.scope[SIDEBARS]
    counts = sidebars.changes(caller_of(request), await state_of(request).subscription())
    chunks = _together(_encoded(_hints(events, about)), counts)
    return stream(request, chunks, sessions_of(request), bytes)


async def _encoded(events: Events) -> Chunks:
    async with aclosing(events):
        async for event in events:
            yield encode_event(event)


async def _together(hints: Chunks, counts: Chunks) -> Chunks:
    """Yield the chunks of both until there are no more hints.

    The numbers wait for the first hint, or a second: if there is no such thing, that is the answer.
    """
    async with aclosing(hints), aclosing(counts):
        waiting = {asyncio.ensure_future(anext(hints)): hints}
        try:
            await asyncio.wait(waiting, timeout=FIRST_WAIT)
            waiting[asyncio.ensure_future(anext(counts))] = counts
            while True:
                done, _ = await asyncio.wait(waiting, return_when="FIRST_COMPLETED")
                for task in done:
                    source = waiting.pop(task)
                    try:
                        yield task.result()
                    except StopAsyncIteration:
                        return
                    waiting[asyncio.ensure_future(anext(source))] = source
        finally:
            for task in waiting:
                await cancel(task)


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
