"""The orchestrator's classes keep what its documentation says; its snippets run word for word."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from examples.rag_pipeline import pipeline
from examples.rag_pipeline.job_manager import JobManager
from examples.rag_pipeline.job_repository import JobLease, JobRepository
from examples.rag_pipeline.job_status import STATUSES, JobStatus

from tenure.domain.lifecycle import State, Status
from tenure.errors import IllegalTransition, InputRefused, LeaseLost
from tenure.store.store import Store
from tests.examples import cancellation_points, snippets
from tests.examples.conftest import pointed_at
from tests.workers import Watcher, eventually

POINTS = "tests.examples.cancellation_points:app"

CONFIGURATION = """\
JobManager(
    heartbeat_interval=30,     # Seconds between heartbeats
    lease_duration=300         # Lease duration in seconds (5 minutes)
)
"""
DEVELOPMENT = """\
JobManager(
    heartbeat_interval=10,    # Faster detection of issues
    lease_duration=60         # Shorter lease for quick recovery
)
"""
PRODUCTION = """\
JobManager(
    heartbeat_interval=30,    # Balance between overhead and detection
    lease_duration=300        # 5 minutes allows for temporary issues
)
"""
HIGH_RELIABILITY = """\
JobManager(
    heartbeat_interval=15,    # More frequent heartbeats
    lease_duration=180        # 3 minutes for faster recovery
)
"""
CANCELLATION_REQUEST = """\
job_manager.cancel_job(job_id)
"""
JOB_STATUS = """\
status = await job_manager.get_job_status(job_id)
# Returns: status, worker_id, heartbeat_at, lease_expires_at, etc.
"""
STATISTICS = """\
stats = await repo.get_job_statistics()
# Returns counts by status including: pending, running, completed, failed, cancelled
"""


@pytest.fixture(autouse=True)
def _app(database: str) -> Iterator[None]:
    with pointed_at(cancellation_points.app, database):
        yield


@pytest.fixture
def job_id() -> int:
    return cancellation_points.operate.enqueue().id


@pytest.mark.parametrize(
    ("snippet", "beat", "lease"),
    [
        (CONFIGURATION, 30, 300),
        (DEVELOPMENT, 10, 60),
        (PRODUCTION, 30, 300),
        (HIGH_RELIABILITY, 15, 180),
    ],
)
def test_a_manager_is_configured_as_documented(snippet: str, beat: int, lease: int) -> None:
    settings = eval(snippet, {"JobManager": JobManager}).app.settings
    assert (settings.beat.seconds, settings.lease.seconds) == (beat, lease)
    assert settings.drain_grace.seconds == 30


@pytest.mark.parametrize(
    ("name", "snippet"),
    [
        ("development", DEVELOPMENT),
        ("production", PRODUCTION),
        ("high-reliability", HIGH_RELIABILITY),
    ],
)
def test_a_preset_is_the_recommended_configuration(name: str, snippet: str) -> None:
    recommended = eval(snippet, {"JobManager": JobManager})
    assert JobManager(**pipeline.PRESETS[name]).app.settings == recommended.app.settings


def test_the_environment_overrides_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_LEASE", "90s")
    assert JobManager(heartbeat_interval=30, lease_duration=300).app.settings.lease.seconds == 90


def test_every_status_of_tenure_has_a_word_here() -> None:
    assert set(STATUSES) == set(Status)
    assert set(STATUSES.values()) == set(JobStatus)


def test_a_running_job_is_cancelled_at_its_next_check_and_never_killed(
    worker_of: Any, store: Store, job_id: int
) -> None:
    with worker_of(POINTS):
        eventually(lambda: store.show(job_id).progress, "it works")
        status = asyncio.run(after(JOB_STATUS, job_id))["status"]
        assert status["status"] is JobStatus.RUNNING
        assert status["worker_id"] == str(store.workers()[0].id)
        assert status["heartbeat_at"] < status["lease_expires_at"]
        asyncio.run(after(CANCELLATION_REQUEST, job_id))
        Watcher(store).becomes(job_id, State.CANCELLED, State.FAILED)
    status = asyncio.run(after(JOB_STATUS, job_id))["status"]
    assert (status["status"], status["worker_id"]) == (JobStatus.CANCELLED, None)
    [member] = store.cancellation(job=job_id).members
    assert member.rung == "asked"


def test_a_pending_job_is_cancelled_at_once(job_id: int) -> None:
    asyncio.run(after(CANCELLATION_REQUEST, job_id))
    assert asyncio.run(after(JOB_STATUS, job_id))["status"]["status"] is JobStatus.CANCELLED


def test_an_ended_job_cannot_be_cancelled(job_id: int) -> None:
    assert asyncio.run(work(JobStatus.COMPLETED)).job_id == job_id
    with pytest.raises(IllegalTransition, match="cannot cancel a job that is completed"):
        asyncio.run(after(CANCELLATION_REQUEST, job_id))


def test_statistics_count_every_status_zeros_included(job_id: int) -> None:
    cancellation_points.operate.enqueue()
    asyncio.run(after(CANCELLATION_REQUEST, job_id))
    assert asyncio.run(after(STATISTICS, job_id))["stats"] == {
        "pending": 1,
        "running": 0,
        "completed": 0,
        "failed": 0,
        "retrying": 0,
        "cancelled": 1,
    }


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.PENDING])
def test_a_released_lease_leaves_the_job_as_its_worker_said(
    store: Store, job_id: int, status: JobStatus
) -> None:
    asyncio.run(work(status))
    job = store.show(job_id)
    assert (STATUSES[job.status], job.worker_id) == (status, None)


def test_a_job_is_acquired_by_one_worker_only(job_id: int) -> None:
    async def race() -> list[int]:
        async with repository() as repo:
            leases = await asyncio.gather(*(repo.acquire_job_lease(uuid4()) for _ in range(8)))
            return [lease.job_id for lease in leases if lease is not None]

    assert asyncio.run(race()) == [job_id]


def test_a_heartbeat_extends_the_lease_by_its_whole_duration(
    job_id: int, store: Store, sql: psycopg.Connection
) -> None:
    async def beat() -> None:
        async with repository() as repo:
            lease = await repo.acquire_job_lease(uuid4(), lease_duration=300)
            assert lease is not None
            sql.execute("UPDATE tenure.worker SET expires_at = now() + interval '1 second'")
            assert await repo.update_heartbeat(lease)

    asyncio.run(beat())
    job = store.show(job_id)
    assert job.lease_expires_at is not None
    assert job.heartbeat_at is not None
    assert (job.lease_expires_at - job.heartbeat_at).total_seconds() == 300


def test_a_zombie_is_found_recovered_and_lost_to_its_worker(
    job_id: int, store: Store, sql: psycopg.Connection
) -> None:
    async def die() -> None:
        async with repository() as repo:
            lease = await repo.acquire_job_lease(uuid4(), lease_duration=300)
            assert lease is not None
            assert await repo.get_zombie_jobs() == []
            assert not await repo.recover_zombie_job(job_id)
            sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1 second'")
            assert [job.id for job in await repo.get_zombie_jobs()] == [job_id]
            assert store.show(job_id).state is State.RUNNING  # to find it changes nothing
            assert await repo.recover_zombie_job(job_id)
            assert not await repo.update_heartbeat(lease)
            assert not await repo.release_job_lease(lease, JobStatus.COMPLETED)
            with pytest.raises(LeaseLost, match="start again under a new id"):
                await repo.acquire_job_lease(lease.worker_id)

    asyncio.run(die())
    job = store.show(job_id)
    assert (job.state, job.worker_id, job.lease_expires_at) == (State.PENDING, None, None)


def test_a_lease_is_not_released_as_running(job_id: int) -> None:
    with pytest.raises(InputRefused, match="not as running"):
        asyncio.run(work(JobStatus.RUNNING))


def test_a_manager_runs_jobs_until_it_is_shut_down(
    database: str, monkeypatch: pytest.MonkeyPatch, store: Store, job_id: int
) -> None:
    monkeypatch.setenv("TENURE_DATABASE_URL", database)
    monkeypatch.setenv("TENURE_DRAIN_GRACE", "1s")
    manager = cancellation_points.job_manager

    async def manage() -> None:
        assert not manager.is_running
        async with manager:
            assert manager.is_running
            await asyncio.to_thread(eventually, lambda: store.show(job_id).progress, "it works")
        assert not manager.is_running

    asyncio.run(manage())
    assert store.show(job_id).status == "queued"  # given back, for another worker


@asynccontextmanager
async def repository() -> AsyncIterator[JobRepository]:
    """The repository; its connections are closed at the end."""
    async with cancellation_points.app:
        yield JobRepository(cancellation_points.app)


async def after(snippet: str, job_id: int) -> dict[str, Any]:
    """The names that are there after a snippet."""
    async with repository() as repo:
        manager = cancellation_points.job_manager
        return await snippets.run(snippet, job_manager=manager, repo=repo, job_id=job_id)


async def work(status: JobStatus) -> JobLease:
    """Run the next job by hand, and end it like this."""
    async with repository() as repo:
        lease = await repo.acquire_job_lease(uuid4())
        assert lease is not None
        assert await repo.release_job_lease(lease, status, error="no luck")
        return lease
