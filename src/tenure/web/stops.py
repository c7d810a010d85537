"""Stop a job for a request, and wait for its end within a limit."""

import asyncio
from datetime import timedelta

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.cancellation_log import CancellationLog
from tenure.control.job_operations import stop
from tenure.domain.cancellation import CancellationRecord, CancellationResult
from tenure.domain.duration import in_words
from tenure.domain.lifecycle import Intent
from tenure.domain.options import read_duration
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.web.context import state_of
from tenure.web.models import Duration, StopBody
from tenure.web.responses import JsonResponse, location
from tenure.web.streams import cancel, disconnected

Stopped = JsonResponse[CancellationResult] | JsonResponse[CancellationRecord]

WAIT, MAX_WAIT = timedelta(seconds=10), timedelta(seconds=60)


async def stop_and_wait(
    request: Request, caller: AuthorizedClient, job: int, intent: Intent, body: StopBody
) -> Stopped:
    """Answer 200 with the result if everything stops in time, else 202 with the record."""
    wait = read_wait(body.wait)
    record = await caller.aperform(stop(job, intent, body.reason, **body.options()))
    log = CancellationLog(caller.principal.tenant, job)
    log.begin(record)
    if record.completed_at is None:
        record = await _wait_for_end(request, caller, record, wait)
    else:
        # Read again: the answer to a stop does not contain its members.
        record = await caller.asend(queries.cancellation(record.cancellation_id))
    if record.completed_at is not None:
        log.end(record)
        return JsonResponse(record.result())
    where = location(request, f"/api/cancellations/{record.cancellation_id}")
    return JsonResponse(record, 202, where)


def read_wait(wait: Duration | None) -> timedelta:
    """Return how long a request waits for its result."""
    read = WAIT if wait is None else read_duration("wait", wait)
    if read is None or read > MAX_WAIT:
        raise InputRefused(f"wait: the maximum is {in_words(MAX_WAIT)}; poll after that")
    return read


async def _wait_for_end(
    request: Request, caller: AuthorizedClient, record: CancellationRecord, wait: timedelta
) -> CancellationRecord:
    """Return the record when it is closed, when the wait is over, or when the client is gone."""
    subscription = await state_of(request).subscription()
    closing = asyncio.ensure_future(subscription.closed(caller, record, wait))
    gone = asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait({closing, gone}, return_when="FIRST_COMPLETED")
        return closing.result() if closing.done() else record
    finally:
        await cancel(gone)
        await cancel(closing)
