"""The clean-up from plain code: threads, private event loops, and closes that never end."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tenure.resources import CleanupCoordinator, HTTPResourceManager, ResourceManager

PATIENCE = 20.0


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What blocks waits for this; the threads that were left behind end with the test."""
    event = threading.Event()
    before = set(threading.enumerate())
    yield event
    event.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)
        assert not thread.is_alive()


class Blocking:
    def __init__(self, release: threading.Event) -> None:
        self.release = release
        self.entered = threading.Event()

    def close(self) -> None:
        self.entered.set()
        assert self.release.wait(PATIENCE)


def test_plain_resources_are_closed_at_once() -> None:
    all_here = threading.Barrier(20)

    class Meeting:
        def close(self) -> None:
            all_here.wait(PATIENCE)

    resources = CleanupCoordinator(PATIENCE)
    for _ in range(20):
        resources.add(Meeting())
    assert resources.close()["graceful_close_succeeded"] == ["Meeting"] * 20


def test_a_close_that_blocks_for_ever_is_left_behind_and_listed(release: threading.Event) -> None:
    class Polite:
        closed = False

        def close(self) -> None:
            self.closed = True

    resources = CleanupCoordinator()
    blocking = resources.add(Blocking(release), name="blocking", timeout=0.05)
    polite = resources.add(Polite())
    report = resources.close()
    assert report["failed"] == [
        {"name": "blocking", "error": "its force close did not end within 1 s"}
    ]
    assert report["graceful_close_succeeded"] == ["Polite"]
    assert blocking.entered.is_set()
    assert polite.closed


def test_async_code_is_not_held_up_by_a_plain_close_that_blocks(release: threading.Event) -> None:
    async def run() -> None:
        resources = CleanupCoordinator()
        resources.add(Blocking(release), timeout=0.05)
        report = await resources.aclose()
        assert [failure["name"] for failure in report["failed"]] == ["Blocking"]

    asyncio.run(run())


def test_a_coroutine_that_blocks_its_loop_is_left_behind_too(release: threading.Event) -> None:
    class Rude(ResourceManager):
        forced = False

        async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
            return release.wait(PATIENCE)

        async def force_close(self) -> None:
            self.forced = True

        def is_active(self) -> bool:
            return True

    resources = CleanupCoordinator()
    rude = resources.add(Rude(), timeout=0.05)
    assert resources.close()["force_closed"] == ["Rude"]
    assert rude.forced


def test_an_async_resource_is_closed_with_an_event_loop_of_its_own() -> None:
    resources = CleanupCoordinator()
    http = resources.add(HTTPResourceManager(httpx.AsyncClient(trust_env=False)))
    assert resources.close()["graceful_close_succeeded"] == ["HTTPResourceManager"]
    assert http.client.is_closed


def test_an_async_resource_is_closed_in_the_loop_it_lives_in_if_that_still_runs() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    class Mindful:
        async def aclose(self) -> None:
            loops.append(asyncio.get_running_loop())

    async def run() -> None:
        resources = CleanupCoordinator()
        resources.add(Mindful())
        report = await asyncio.to_thread(resources.close)
        assert report["graceful_close_succeeded"] == ["Mindful"]
        assert loops == [asyncio.get_running_loop()]

    asyncio.run(run())


def test_a_block_in_a_task_is_left_there_when_plain_code_closes() -> None:
    log: list[str] = []

    @contextlib.asynccontextmanager
    async def block() -> AsyncIterator[None]:
        yield
        log.append("left")

    async def run() -> None:
        resources = CleanupCoordinator()
        await resources.aenter(block())
        await asyncio.to_thread(resources.close)

    asyncio.run(run())
    assert log == ["left"]


def test_partial_results_are_saved_first_in_plain_code_too() -> None:
    log: list[str] = []

    class Closing:
        def close(self) -> None:
            log.append("closed")

    resources = CleanupCoordinator(flush=lambda: log.append("saved"))
    resources.add(Closing())
    resources.close()
    assert log == ["saved", "closed"]


def test_two_threads_that_close_get_the_same_report() -> None:
    class Slow:
        closed = 0

        def close(self) -> None:
            self.closed += 1
            other_asks.wait(PATIENCE)

    other_asks = threading.Event()
    resources = CleanupCoordinator(PATIENCE)
    slow = resources.add(Slow())
    reports: list[object] = []
    first = threading.Thread(target=lambda: reports.append(resources.close()))
    first.start()
    other_asks.set()
    reports.append(resources.close())
    first.join(PATIENCE)
    assert reports[0] is reports[1]
    assert slow.closed == 1
