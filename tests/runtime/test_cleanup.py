"""The clean-up from async code: what it closes, in which order, and what it says of it."""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tenure.config import Settings
from tenure.errors import InputRefused, ResourceClosed
from tenure.resources import CleanupCoordinator, CleanupReport, ResourceManager
from tests.cleanup import KEYS


class Polite(ResourceManager):
    def __init__(self, log: list[str] | None = None) -> None:
        self.log = [] if log is None else log
        self.within: float | None = None

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        self.within = timeout_seconds
        self.log.append("closed")
        return True

    async def force_close(self) -> None:
        self.log.append("forced")

    def is_active(self) -> bool:
        return False


class Stubborn(Polite):
    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
        return False


class Repository:
    def __init__(self, answer: Any = None) -> None:
        self.answer, self.calls = answer, list[Any]()

    async def cancel(self, job_id: str, *, cancelled_by: str | None, reason: str | None) -> Any:
        self.calls.append((job_id, cancelled_by, reason))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def close(*things: Any, **options: Any) -> CleanupReport:
    async def run() -> CleanupReport:
        resources = CleanupCoordinator(**options)
        for thing in things:
            resources.register_resource(thing)
        return await resources.aclose()

    return asyncio.run(run())


def test_the_report_has_its_keys_and_is_json() -> None:
    report = close(Polite(), Stubborn())
    assert list(report) == KEYS
    assert json.loads(json.dumps(report)) == report
    assert report["graceful_close_succeeded"] == ["Polite"]
    assert report["force_closed"] == ["Stubborn"]
    assert report["total_resources"] == 2
    assert report["failed"] == []
    assert report["job_status_updated"] is False
    for key in ("cleanup_started_at", "cleanup_completed_at"):
        at = str(report[key])
        assert at.endswith("Z")
        assert datetime.fromisoformat(at).utcoffset() == timedelta(0)
    assert 0 <= report["cleanup_duration_seconds"] < 60


def test_add_gives_back_what_it_was_given_and_knows_it_the_second_time() -> None:
    resources, polite = CleanupCoordinator(), Polite()
    assert resources.add(polite) is polite
    assert resources.add(polite) is polite
    assert resources.resources == [polite]


def test_what_was_removed_is_left_alone() -> None:
    resources, polite = CleanupCoordinator(), Polite()
    resources.remove(resources.add(polite))
    assert resources.close()["total_resources"] == 0
    assert polite.log == []


def test_each_resource_has_its_own_timeout_then_its_kind_s_then_the_coordinator_s() -> None:
    class Patient(Polite):
        close_timeout = 30.0

    own, kind, common = Patient(), Patient(), Polite()
    resources = CleanupCoordinator(graceful_timeout=Settings().close_timeout)
    resources.add(own, timeout="2s")
    resources.add(kind)
    resources.add(common)
    resources.close()
    assert (own.within, kind.within, common.within) == (2.0, 30.0, 5.0)


def test_partial_results_are_saved_before_anything_is_closed() -> None:
    log: list[str] = []

    async def flush() -> None:
        await asyncio.sleep(0)
        log.append("saved")

    close(Polite(log), flush=flush)
    close(Polite(log), flush=lambda: log.append("saved plainly"))
    assert log == ["saved", "closed", "saved plainly", "closed"]


def test_partial_results_that_cannot_be_saved_are_listed_and_everything_is_closed() -> None:
    def flush() -> None:
        raise OSError("no space left")

    report = close(Polite(), flush=flush)
    assert report["failed"] == [{"name": "partial results", "error": "no space left"}]
    assert report["graceful_close_succeeded"] == ["Polite"]


def test_all_resources_are_closed_at_once() -> None:
    async def run() -> CleanupReport:
        all_here = asyncio.Barrier(50)

        class Meeting(Polite):
            async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
                await all_here.wait()
                return True

        resources = CleanupCoordinator(30)
        for number in range(50):
            resources.add(Meeting(), name=f"resource {number}")
        return await resources.aclose()

    report = asyncio.run(run())
    assert report["graceful_close_succeeded"] == [f"resource {number}" for number in range(50)]


def test_one_that_hangs_delays_no_other_and_is_forced() -> None:
    log: list[str] = []

    class Hanging(Polite):
        async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
            await asyncio.Event().wait()
            return True

    async def run() -> CleanupReport:
        resources = CleanupCoordinator()
        resources.add(Hanging(log), timeout=0.05)
        resources.add(Polite(log))
        return await resources.aclose()

    assert asyncio.run(run())["force_closed"] == ["Hanging"]
    assert log == ["closed", "forced"]


def test_closing_again_gives_the_same_report_and_closes_nothing_twice() -> None:
    async def run() -> None:
        polite = Polite()
        resources = CleanupCoordinator()
        resources.add(polite)
        first, second = await asyncio.gather(resources.aclose(reason="first"), resources.aclose())
        assert first is second
        assert await resources.cleanup("somebody", "later") is first
        assert await asyncio.to_thread(resources.close) is first
        assert first["cancellation_reason"] == "first"
        assert polite.log == ["closed"]

    asyncio.run(run())


def test_nothing_can_be_added_once_it_closes() -> None:
    resources = CleanupCoordinator()
    resources.close()
    with pytest.raises(ResourceClosed, match="nothing can be added"):
        resources.add(Polite())


def test_a_cleanup_continues_when_its_caller_is_cancelled() -> None:
    async def run() -> None:
        started, go_on = asyncio.Event(), asyncio.Event()

        class Slow(Polite):
            async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
                started.set()
                await go_on.wait()
                return True

        resources = CleanupCoordinator()
        resources.add(Slow())
        asking = asyncio.create_task(resources.aclose())
        await started.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        go_on.set()
        assert (await resources.aclose())["graceful_close_succeeded"] == ["Slow"]

    asyncio.run(run())


def test_as_a_block_it_closes_at_the_end_and_lets_the_error_through() -> None:
    async def run() -> None:
        async with CleanupCoordinator() as resources:
            resources.add(polite)
            raise ValueError("of the block")

    polite = Polite()
    with pytest.raises(ValueError, match="of the block"):
        asyncio.run(run())
    assert polite.log == ["closed"]
    assert isinstance(polite.ended_by, ValueError)


def test_the_plain_close_is_refused_inside_an_event_loop() -> None:
    async def run() -> None:
        CleanupCoordinator().close()

    with pytest.raises(InputRefused, match="await aclose"):
        asyncio.run(run())


def update(repository: Any, **options: Any) -> CleanupReport:
    async def run() -> CleanupReport:
        resources = CleanupCoordinator(graceful_timeout=5.0)
        resources.register_resource(Polite())
        return await resources.cleanup_and_update_job(
            job_id="job-123", job_repo=repository, **options
        )

    return asyncio.run(run())


def test_the_job_is_updated_after_its_resources_are_closed() -> None:
    repository = Repository()
    report = update(repository, cancelled_by="user-123", reason="customer left")
    assert repository.calls == [("job-123", "user-123", "customer left")]
    assert report["job_status_updated"] is True
    assert report["job_cancelled_at"] is not None
    assert report["cancelled_by"] == "user-123"
    assert report["cancellation_reason"] == "customer left"


def test_a_cancellation_without_a_reason_gets_one() -> None:
    assert update(None)["cancellation_reason"] == "Job cancellation requested"


@pytest.mark.parametrize(
    ("repository", "failed"),
    [
        (None, []),
        (Repository(answer=False), []),
        (Repository(answer=OSError("gone")), [{"name": "job status", "error": "gone"}]),
    ],
)
def test_a_job_that_was_not_updated_is_not_said_to_be(repository: Any, failed: list[Any]) -> None:
    report = update(repository)
    assert report["job_status_updated"] is False
    assert report["job_cancelled_at"] is None
    assert report["failed"] == failed
    assert report["graceful_close_succeeded"] == ["Polite"]


def test_a_cancellation_is_told_to_the_resources() -> None:
    async def run() -> None:
        resources = CleanupCoordinator()
        polite = resources.add(Polite())
        await resources.cleanup(reason="customer left")
        assert isinstance(polite.ended_by, asyncio.CancelledError)

    asyncio.run(run())


def test_the_clean_up_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tenure.cleanup"):
        close(Stubborn())
    texts = [record.getMessage() for record in caplog.records]
    assert texts[0] == "Stubborn did not close within 5 s and is closed by force"
    assert texts[-1].startswith("clean-up: ")


def test_a_clean_up_with_nothing_to_do() -> None:
    make: Callable[[], CleanupCoordinator] = CleanupCoordinator
    assert make().close()["total_resources"] == 0
