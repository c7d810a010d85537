"""A stop by request: asked for, waited for within a bound, and answered."""

import asyncio
from datetime import timedelta

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.cancellation_log import CancellationLog
from tenure.control.job_operations import stop
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import in_words
from tenure.domain.lifecycle import Intent
from tenure.domain.options import read_duration
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.web.answers import Answer, place
from tenure.web.asking import shared
from tenure.web.models import Duration, StopBody
from tenure.web.streams import disconnected, ended

WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(seconds=60)


async def stopped(
    request: Request, caller: AuthorizedClient, job: int, intent: Intent, asked: StopBody
) -> Answer:
    """200 with the result if all has stopped in time, else 202 with the record."""
    wait = bound(asked.wait)
    record = await caller.aperform(stop(job, intent, asked.reason, **asked.options()))
    log = CancellationLog(caller.principal.tenant, job)
    log.begin(record)
    if record.completed_at is None:
        record = await _end(request, caller, record, wait)
    else:
        # Asked once more: the answer to a stop does not name its members.
        record = await caller.asend(queries.cancellation(record.cancellation_id))
    if record.completed_at is not None:
        log.end(record)
        return Answer(record.result())
    where = place(request, f"/api/cancellations/{record.cancellation_id}")
    return Answer(record, 202, {"location": where})


def bound(wait: Duration | None) -> timedelta:
    """Return how long a request waits."""
    read = WAIT if wait is None else read_duration("wait", wait)
    if read is None or read > LONGEST_WAIT:
        raise InputRefused(f"wait: it takes at most {in_words(LONGEST_WAIT)}; ask again later")
    return read


async def _end(
    request: Request, caller: AuthorizedClient, record: CancellationRecord, wait: timedelta
) -> CancellationRecord:
    """Return the record when it is closed, or as it is when nobody waits any longer."""
    subscription = await shared(request).watching()
    closing = asyncio.ensure_future(subscription.closed(caller, record, wait))
    gone = asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait({closing, gone}, return_when="FIRST_COMPLETED")
        return closing.result() if closing.done() else record
    finally:
        await ended(gone)
        await ended(closing)
