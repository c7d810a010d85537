"""What happens when closing fails: it is listed, tried again, and left to a job at last."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.errors import InputRefused
from tenure.resources import CleanupCoordinator, CleanupReport, ResourceManager


class Broken(ResourceManager):
    """Raises when it is closed, and when it is forced, as often as it is told."""

    def __init__(self, error: BaseException, forced_failures: int = 1000) -> None:
        self.error = error
        self.left = forced_failures
        self.forced = 0

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
        raise self.error

    async def force_close(self) -> None:
        self.forced += 1
        if self.left:
            self.left -= 1
            raise self.error

    def is_active(self) -> bool:
        return True


class Stuck(Broken):
    """Whose force close swallows what should end it."""

    def __init__(self) -> None:
        super().__init__(RuntimeError("broken"))
        self.let_go = asyncio.Event()

    async def force_close(self) -> None:
        self.forced += 1
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                continue


def in_async_code(resources: CleanupCoordinator) -> CleanupReport:
    return asyncio.run(resources.aclose())


def in_plain_code(resources: CleanupCoordinator) -> CleanupReport:
    return resources.close()


both_ways = pytest.mark.parametrize("close", [in_async_code, in_plain_code])


@both_ways
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError("connection reset"), "connection reset"),
        (TimeoutError("of its own"), "of its own"),
        (ValueError(), "ValueError()"),
        (StopIteration(), "StopIteration"),
        (SystemExit(3), "it raised SystemExit(3)"),
        (GeneratorExit(), "it raised GeneratorExit()"),
        (asyncio.CancelledError(), "it was cancelled from elsewhere"),
    ],
)
def test_no_error_of_a_resource_comes_out_of_the_clean_up(
    close: Any, error: BaseException, text: str
) -> None:
    resources = CleanupCoordinator()
    broken = resources.add(Broken(error))
    report = close(resources)
    [failure] = report["failed"]
    assert failure["name"] == "Broken"
    if not isinstance(error, asyncio.CancelledError):
        assert text in failure["error"]
    assert broken.forced == 4
    assert report["force_closed"] == report["graceful_close_succeeded"] == []
    assert report["total_resources"] == 1


@both_ways
def test_a_force_close_is_tried_again(close: Any) -> None:
    resources = CleanupCoordinator()
    broken = resources.add(Broken(OSError("busy"), forced_failures=2))
    report = close(resources)
    assert report["force_closed"] == ["Broken"]
    assert report["failed"] == []
    assert broken.forced == 3


@both_ways
def test_what_cannot_be_closed_is_left_to_a_job(close: Any) -> None:
    asked: list[tuple[str, Mapping[str, Any]]] = []

    async def later(task: str, args: Mapping[str, Any]) -> None:
        asked.append((task, args))

    resources = CleanupCoordinator(retry_later=later)
    task = SimpleNamespace(name="crawler.close_session")
    resources.add(Broken(OSError("a")), name="a", again=(task, {"session": 7}))
    resources.add(Broken(OSError("b")), name="b", again=("close_b", {}))
    resources.add(Broken(OSError("c")), name="c")
    resources.add(Broken(OSError("d"), forced_failures=0), name="d", again=("close_d", {}))
    assert [name for name, _ in resources.retries] == [
        "crawler.close_session",
        "close_b",
        "close_d",
    ]
    assert close(resources)["failed"] == [
        {"name": "a", "error": "a", "retry": "crawler.close_session"},
        {"name": "b", "error": "b", "retry": "close_b"},
        {"name": "c", "error": "c"},
    ]
    assert sorted(asked, key=str) == [("close_b", {}), ("crawler.close_session", {"session": 7})]


def test_a_job_that_cannot_be_asked_is_not_promised() -> None:
    def later(task: str, args: Mapping[str, Any]) -> None:
        raise OSError("the keeper is gone")

    resources = CleanupCoordinator(retry_later=later)
    resources.add(Broken(OSError("busy")), again=("close_it", {}))
    [failure] = resources.close()["failed"]
    assert "retry" not in failure
    assert "close_it could not be asked to try again" in failure["error"]


def test_what_is_no_task_is_refused_when_it_is_added() -> None:
    with pytest.raises(InputRefused, match="neither a task nor the name of a task"):
        CleanupCoordinator().add(Broken(OSError()), again=(42, {}))


def test_a_force_close_that_will_not_end_is_left_behind() -> None:
    async def run() -> None:
        resources = CleanupCoordinator()
        stuck = resources.add(Stuck())
        [failure] = (await resources.aclose())["failed"]
        assert failure["error"] == "its force close did not end within 1 s"
        assert stuck.forced == 1
        stuck.let_go.set()

    asyncio.run(run())


def test_one_that_fails_keeps_no_other_from_being_closed() -> None:
    class Polite:
        closed = False

        def close(self) -> None:
            self.closed = True

    resources = CleanupCoordinator()
    resources.add(Broken(OSError("busy")))
    polite = resources.add(Polite())
    assert resources.close()["graceful_close_succeeded"] == ["Polite"]
    assert polite.closed
