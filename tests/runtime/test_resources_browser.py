"""Browsers by their methods: stand-ins that behave as Playwright and Selenium do."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.resources import BrowserResourceManager, CleanupCoordinator, resource_for

PATIENCE = 20.0


class Page:
    def __init__(self, log: list[str], name: str = "page") -> None:
        self.log, self.name, self.closed = log, name, False
        self.hangs, self.raises = False, False

    def is_closed(self) -> bool:
        return self.closed

    async def goto(self, url: str) -> None: ...

    async def close(self) -> None:
        self.log.append(self.name)
        if self.raises:
            raise RuntimeError("the page crashed")
        if self.hangs:
            await asyncio.Event().wait()
        self.closed = True


class BrowserContext:
    def __init__(self, log: list[str], pages: list[Page], name: str = "context") -> None:
        self.log, self.pages, self.name = log, pages, name

    async def new_page(self) -> None: ...

    async def close(self) -> None:
        self.log.append(self.name)


class Browser:
    def __init__(self, log: list[str], contexts: list[BrowserContext]) -> None:
        self.log, self.contexts, self.connected, self.hangs = log, contexts, True, False

    def is_connected(self) -> bool:
        return self.connected

    async def new_page(self) -> None: ...

    async def close(self) -> None:
        self.log.append("browser")
        if self.hangs:
            await asyncio.Event().wait()
        self.connected = False


def make_browser() -> tuple[Browser, list[str]]:
    log: list[str] = []
    return Browser(log, [BrowserContext(log, [Page(log, "page 1"), Page(log, "page 2")])]), log


def test_pages_are_closed_before_their_context_and_that_before_the_browser() -> None:
    browser, log = make_browser()
    manager = resource_for(browser)
    assert isinstance(manager, BrowserResourceManager)
    assert manager.is_active()
    assert asyncio.run(manager.close_gracefully())
    assert log == ["page 1", "page 2", "context", "browser"]
    assert not manager.is_active()


def test_a_page_that_cannot_be_closed_does_not_keep_its_browser_open() -> None:
    browser, log = make_browser()
    browser.contexts[0].pages[0].raises = True
    assert asyncio.run(BrowserResourceManager(browser).close_gracefully())
    assert log[-1] == "browser"


def test_several_contexts_are_closed_at_once() -> None:
    log: list[str] = []

    class Meeting(BrowserContext):
        async def close(self) -> None:
            await barrier.wait()
            self.log.append(self.name)

    async def run() -> bool:
        manager = BrowserResourceManager(contexts=[Meeting(log, [], "one")])
        manager.add_context(Meeting(log, [], "two"))
        return await manager.close_gracefully(PATIENCE)

    barrier = _Barrier(2)
    assert asyncio.run(run())
    assert sorted(log) == ["one", "two"]


class _Barrier:
    """asyncio has one from 3.11 on, but it belongs to a loop; this one is made before."""

    def __init__(self, parties: int) -> None:
        self.left, self.all_here = parties, asyncio.Event()

    async def wait(self) -> None:
        self.left -= 1
        if not self.left:
            self.all_here.set()
        await self.all_here.wait()


def test_a_manager_without_contexts_has_nothing_to_do() -> None:
    manager = BrowserResourceManager()
    assert not manager.is_active()
    assert asyncio.run(manager.close_gracefully())
    asyncio.run(manager.force_close())


def test_a_page_that_hangs_ends_the_graceful_close_at_its_timeout() -> None:
    browser, _ = make_browser()
    browser.contexts[0].pages[0].hangs = True
    assert not asyncio.run(BrowserResourceManager(browser).close_gracefully(0.02))


def test_by_force_a_context_is_closed_without_its_pages() -> None:
    browser, log = make_browser()
    asyncio.run(BrowserResourceManager(browser.contexts[0]).force_close())
    assert log == ["context"]
    assert browser.connected


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    started = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)"])
    yield started
    started.kill()
    started.wait()


class Driver:
    """As Selenium's: plain calls, and a service with the process of the driver."""

    def __init__(self, process: Any) -> None:
        self.service = SimpleNamespace(process=process)
        self.session_id: str | None = "a session"
        self.released, self.hangs = threading.Event(), False
        self.thread: threading.Thread | None = None

    def get_window_size(self) -> None: ...

    def quit(self) -> None:
        self.thread = threading.current_thread()
        if self.hangs:
            self.released.wait(PATIENCE)
        self.session_id = None


def test_a_driver_quits_in_a_thread_since_it_blocks(process: "subprocess.Popen[bytes]") -> None:
    driver = Driver(process)
    manager = resource_for(driver)
    assert isinstance(manager, BrowserResourceManager)
    assert asyncio.run(manager.close_gracefully())
    assert driver.thread is not threading.main_thread()
    assert not manager.is_active()


def test_by_force_the_process_of_a_driver_is_killed(process: "subprocess.Popen[bytes]") -> None:
    driver = Driver(process)
    driver.hangs = True
    with CleanupCoordinator() as resources:
        resources.add(driver, timeout=0.05)
        report = resources.close()
    assert report["force_closed"] == ["BrowserResourceManager"]
    assert process.wait(PATIENCE) == -9
    driver.released.set()
    assert driver.thread is not None
    driver.thread.join(PATIENCE)


def test_by_force_a_browser_is_killed_whose_pid_was_given(
    process: "subprocess.Popen[bytes]",
) -> None:
    browser, log = make_browser()
    asyncio.run(BrowserResourceManager(browser, pid=process.pid).force_close())
    assert process.wait(PATIENCE) == -9
    assert log == []


DRIVER = """
import subprocess, sys
for _ in range(int(sys.argv[1])):
    print(subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)"]).pid)
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("browsers", "killed"), [(1, True), (2, False)])
def test_the_browser_of_a_playwright_driver_is_killed_if_it_is_the_only_one(
    browsers: int, killed: bool
) -> None:
    argv = [sys.executable, "-I", "-S", "-c", DRIVER, str(browsers)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        pids = [int(driver.stdout.readline()) for _ in range(browsers)]
        browser, log = make_browser()
        browser._impl_obj = SimpleNamespace(  # type: ignore[attr-defined]
            _connection=SimpleNamespace(_transport=SimpleNamespace(_proc=driver))
        )
        asyncio.run(BrowserResourceManager(browser).force_close())
        assert log == ([] if killed else ["browser"])
        assert driver.poll() is None
        for pid in pids:
            asyncio.run(BrowserResourceManager(pid=pid).force_close())


def test_playwright_s_plain_api_is_closed_in_the_thread_that_closes_all() -> None:
    class PlainBrowser:
        contexts: list[Any] = []
        thread: threading.Thread | None = None

        def close(self) -> None:
            self.thread = threading.current_thread()

        def new_page(self) -> None: ...

    PlainBrowser.__module__ = "playwright.sync_api._generated"
    browser = PlainBrowser()
    resources = CleanupCoordinator()
    assert resources.add(browser) is browser
    assert resources.close()["graceful_close_succeeded"] == ["BrowserResourceManager"]
    assert browser.thread is threading.current_thread()
