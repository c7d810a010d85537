"""A stop by request: asked for, waited for within a bound, and answered."""

import asyncio
from contextlib import aclosing
from datetime import timedelta

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.cancellation_log import CancellationLog
from tenure.control.job_operations import stop
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.duration import in_words
from tenure.domain.lifecycle import Intent
from tenure.domain.task import read_length
from tenure.errors import InputRefused, SettingInvalid
from tenure.store.calls import queries
from tenure.web.context import state_of
from tenure.web.models import Length, StopBody
from tenure.web.responses import JsonResponse, location
from tenure.web.streams import cancel, disconnected

WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(seconds=60)


async def stopped(
    request: Request, caller: AuthorizedClient, job: int, intent: Intent, asked: StopBody
) -> JsonResponse:
    """200 with the result if all has stopped in time, else 202 with the record."""
    wait = bound(asked.wait)
    record = await _asked(caller, job, intent, asked)
    log = CancellationLog(caller.principal.tenant, job)
    log.begin(record)
    if record.completed_at is None:
        record = await _end(request, caller, record, wait)
    else:
        # Asked once more: the answer to a stop does not name its members.
        record = await caller.asend(queries.cancellation(record.cancellation_id))
    if record.completed_at is not None:
        log.end(record)
        return JsonResponse(record.result())
    where = location(request, f"/api/cancellations/{record.cancellation_id}")
    return JsonResponse(record, 202, {"location": where})


def bound(wait: Length | None) -> timedelta:
    """How long a request waits for what it asks for."""
    seconds = WAIT if wait is None else length("wait", wait)
    if seconds is None or seconds > LONGEST_WAIT:
        raise InputRefused(f"wait: {in_words(LONGEST_WAIT)} is the most; look again later")
    return seconds


def length(name: str, value: Length | None) -> timedelta | None:
    try:
        return read_length(name, value)
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None


async def _asked(
    caller: AuthorizedClient, job: int, intent: Intent, asked: StopBody
) -> CancellationRecord:
    manner = {name: getattr(asked, name) for name in asked.__struct_fields__}
    manner.pop("wait")
    return await caller.aperform(stop(job, intent, **manner))


async def _end(
    request: Request, caller: AuthorizedClient, record: CancellationRecord, wait: timedelta
) -> CancellationRecord:
    """The record when it is closed; after this wait, or when nobody waits, as it is then."""
    seen = record
    subscription = await state_of(request).subscription()

    async def follow() -> None:
        nonlocal seen
        records = subscription.cancellation(caller, record.cancellation_id, is_patient=True)
        async with aclosing(records):
            async for one in records:
                seen = one

    following = asyncio.ensure_future(follow())
    gone = asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait(
            {following, gone}, timeout=wait.total_seconds(), return_when="FIRST_COMPLETED"
        )
        if following.done():
            following.result()
    finally:
        await cancel(gone)
        await cancel(following)
    return seen
