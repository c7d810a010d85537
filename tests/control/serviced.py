"""What the tests of the cancellation service share."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenure.config import Settings
from tenure.control.client import Client
from tenure.stops import CancellationService
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, end_as_stopped, make_job, make_worker, promote
from tests.waiting import soon
from tests.workers import eventually

T = TypeVar("T")


def run(database: str, story: Callable[[CancellationService], Coroutine[Any, Any, T]]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(30), Client(database, settings=Settings()) as client:
            return await story(CancellationService(client))

    return asyncio.run(bounded())


def start(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    worker = make_worker(store)
    return worker, worker.claim_one()


def end(store: Store, worker: Worker, job: Claimed) -> None:
    """Its runner is gone; somebody who asks at the same moment may have it locked."""
    eventually(lambda: end_as_stopped(worker, job).accepted, f"job {job.id} has ended")
    promote(store)


async def asked(store: Store, job: int) -> str:
    """The record of a job, as soon as somebody has stopped it."""
    await soon(lambda: store.show(job).cancellation_id, f"a stop of job {job}")
    return str(store.show(job).cancellation_id)
