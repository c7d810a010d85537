"""The functions of the database on their own: by hand, from a process that has no worker."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
import pytest
from examples.api_automation.server.database import service
from examples.api_automation.server.database.service import (
    claim_next_job,
    clear_job,
    create_job,
    enqueue_job,
    expire_stale_running_jobs,
    finish_job,
    get_job,
    renew_job_lease,
    request_job_cancel,
    resume_job,
)
from examples.api_automation.server.routes.jobs import JobStatus
from examples.api_automation.server.utils import job_execution
from examples.api_automation.server.utils.job_execution import SETTINGS, TENANTS, app

from tenure import Settings
from tenure.errors import InputRefused
from tests.conftest import wipe
from tests.examples.conftest import pointed_at
from tests.workers import eventually

T = TypeVar("T")

Run = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture
def tenant(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tenant in which this process has not claimed anything yet."""
    monkeypatch.setattr(service, "WORKER_ID", uuid4())
    with pointed_at(app, database):
        for name in TENANTS:
            app.migrate(name)
        yield "acme"
    wipe(database)


@asynccontextmanager
async def queued(tenant: str, *targets: str) -> AsyncIterator[list[int]]:
    """A queued job for each target, oldest first."""
    jobs = [await create_job(target, ["http://127.0.0.1/"], tenant) for target in targets]
    for job in jobs:
        await enqueue_job(job.id, tenant)
    yield [job.id for job in jobs]
    await app.aclose()


async def status(job: int, tenant: str) -> JobStatus:
    return JobStatus.of(await get_job(job, tenant))


def test_a_job_is_pending_until_it_is_enqueued(tenant: str) -> None:
    async def main() -> None:
        job = await create_job("crm", [], tenant)
        assert JobStatus.of(job) == "PENDING"
        assert await claim_next_job(tenant) is None
        assert JobStatus.of(await enqueue_job(job.id, tenant)) == "QUEUED"
        claimed = await claim_next_job(tenant)
        assert claimed is not None
        assert claimed.id == job.id
        await app.aclose()

    asyncio.run(main())


def test_the_oldest_job_of_a_free_target_is_claimed_under_a_lease(tenant: str) -> None:
    async def main() -> None:
        async with queued(tenant, "crm", "crm", "erp") as (first, second, other):
            claimed = [await claim_next_job(tenant) for _ in range(3)]
            assert [job.id if job else None for job in claimed] == [first, other, None]
            seen = await get_job(first, tenant)
            assert JobStatus.of(seen) == "RUNNING"
            assert seen.lease_owner == str(service.WORKER_ID)
            assert seen.lease_expires_at is not None
            assert seen.cancel_requested is False
            assert await status(second, tenant) == "QUEUED"

            assert claimed[0] is not None
            done = await finish_job(claimed[0], ["answer"], tenant)
            assert (JobStatus.of(done), done.result) == ("SUCCESS", ["answer"])
            following = await claim_next_job(tenant)
            assert following is not None
            assert following.id == second

    asyncio.run(main())


def test_no_two_claims_at_the_same_moment_get_one_job(tenant: str) -> None:
    async def main() -> None:
        async with queued(tenant, *(f"target-{n}" for n in range(5))) as jobs:
            await claim_next_job(tenant)
            claims = await asyncio.gather(*(claim_next_job(tenant) for _ in range(10)))
            assert sorted(job.id for job in claims if job) == jobs[1:]

    asyncio.run(main())


def test_a_lease_is_renewed_until_it_is_lost(tenant: str, sql: psycopg.Connection) -> None:
    async def main() -> None:
        async with queued(tenant, "crm") as [job]:
            claimed = await claim_next_job(tenant)
            assert claimed is not None
            before = (await get_job(job, tenant)).lease_expires_at
            assert await renew_job_lease(claimed, tenant) is True
            after = (await get_job(job, tenant)).lease_expires_at
            assert before is not None
            assert after is not None
            assert after > before

            await let_the_lease_run_out(sql)
            await eventually_expired(job)
            expired = await get_job(job, tenant)
            assert JobStatus.of(expired) == "ERROR"
            assert str(expired.error_message).startswith("orphan:")
            assert expired.lease_owner is None
            assert await renew_job_lease(claimed, tenant) is False
            with pytest.raises(InputRefused, match="a worker that starts again draws a new id"):
                await claim_next_job(tenant)

    asyncio.run(main())


def test_a_lease_of_six_seconds_is_renewed_every_two() -> None:
    settings = Settings.from_environment(SETTINGS)
    assert (settings.beat.total_seconds(), settings.lease.total_seconds()) == (2, 6)


def test_a_live_lease_does_not_expire(tenant: str) -> None:
    async def main() -> None:
        async with queued(tenant, "crm") as [job]:
            await claim_next_job(tenant)
            assert await expire_stale_running_jobs() == []
            assert await status(job, tenant) == "RUNNING"

    asyncio.run(main())


def test_any_process_can_ask_for_a_cancel_and_the_owner_sees_it(tenant: str) -> None:
    async def main() -> None:
        async with queued(tenant, "crm", "crm") as (first, second):
            claimed = await claim_next_job(tenant)
            assert claimed is not None
            asked = await request_job_cancel(first)
            assert (JobStatus.of(asked), asked.cancel_requested) == ("RUNNING", True)
            assert await renew_job_lease(claimed, tenant) is True
            assert (await get_job(first, tenant)).cancel_requested is True

            paused = await finish_job(claimed, [], tenant)
            assert (JobStatus.of(paused), paused.cancel_requested) == ("PAUSED", False)
            assert await claim_next_job(tenant) is None  # the paused job holds its target
            assert JobStatus.of(await resume_job(first, tenant)) == "QUEUED"
            again = await claim_next_job(tenant)
            assert again is not None
            assert (again.id, again.token > claimed.token) == (first, True)
            await request_job_cancel(first)
            await finish_job(again, [], tenant)
            assert JobStatus.of(await clear_job(first, tenant)) == "CANCELED"
            following = await claim_next_job(tenant)
            assert following is not None
            assert following.id == second

    asyncio.run(main())


def test_a_shutdown_waits_as_long_as_it_is_told(tenant: str) -> None:
    async def main() -> None:
        await job_execution.worker.start()
        assert job_execution.worker.id is not None
        await job_execution.initiate_graceful_shutdown(timeout_seconds=5)
        assert job_execution.worker.exit == 0
        job = await create_job("crm", [], tenant)
        await enqueue_job(job.id, tenant)
        assert await status(job.id, tenant) == "QUEUED"  # for the next start
        await app.aclose()

    asyncio.run(main())


async def let_the_lease_run_out(sql: psycopg.Connection) -> None:
    age = "UPDATE tenure.worker SET expires_at = expires_at - interval '1 minute' WHERE id = %s"
    await asyncio.to_thread(sql.execute, age, [service.WORKER_ID])


async def eventually_expired(job: int) -> None:
    """Expire what is stale until it is done; the first sweep may have nobody to compare with."""
    loop = asyncio.get_running_loop()

    def look() -> bool:
        expired = asyncio.run_coroutine_threadsafe(expire_stale_running_jobs(), loop)
        return job in expired.result(30)

    await asyncio.to_thread(eventually, look, f"job {job} expires")
