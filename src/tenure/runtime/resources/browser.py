"""Browsers, their contexts and their pages, of Playwright and Selenium.

Neither is imported: a thing is known by its methods.
"""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil

from tenure.errors import CloseFailed
from tenure.runtime.resources.calls import TookTooLong, call, within
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.process import ProcessResourceManager

AGAIN_PATIENCE = 0.3  # seconds for something without a process of its own to close at last


class BrowserResourceManager(ResourceManager):
    """Browsers, contexts, pages or Selenium drivers; each is closed from the inside out.

    By force, a browser's process is killed if its pid is known or given. A context or a page
    may share its browser with others, so it is closed once more and nothing is killed.
    """

    def __init__(self, contexts: Any = None, *, pid: int | None = None) -> None:
        if contexts is None:
            contexts = []
        self.contexts: list[Any] = list(contexts) if _several(contexts) else [contexts]
        self.pid = pid

    def add_context(self, context: Any) -> Any:
        """Close this one too; gives it back."""
        self.contexts.append(context)
        return context

    @property
    def same_thread(self) -> bool:  # type: ignore[override]
        """Playwright's plain API works in one thread only, and outside of any event loop."""
        return any(type(one).__module__.startswith("playwright.sync_api") for one in self.contexts)

    def is_active(self) -> bool:
        return any(_is_open(one) for one in self.contexts)

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        if self.same_thread:
            for one in self.contexts:
                *inner, outermost = _from_the_inside(one)
                for layer in inner:
                    with suppress(Exception):
                        _closer(layer)()
                _closer(outermost)()
            return True
        try:
            await within(timeout_seconds, self._close_all())
        except TookTooLong:
            return False
        return True

    async def force_close(self) -> None:
        known = [(one, self.pid or _pid_of(one)) for one in self.contexts]
        pids = {pid for _, pid in [(None, self.pid), *known] if pid}
        await asyncio.gather(*(ProcessResourceManager(pid).force_close() for pid in pids))
        rest = [one for one, pid in known if pid is None and _is_open(one)]
        if rest and self.same_thread:
            raise CloseFailed("a browser of Playwright's plain API closes in its own thread only")
        await asyncio.gather(*(within(AGAIN_PATIENCE, call(_closer(one))) for one in rest))

    async def _close_all(self) -> None:
        outcomes = await asyncio.gather(
            *(_close_from_the_inside(one) for one in self.contexts), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


async def _close_from_the_inside(one: Any) -> None:
    *inner, outermost = _from_the_inside(one)
    for layer in inner:
        with suppress(Exception):  # what is around it closes it too
            await call(_closer(layer))
    if _is_open(outermost):
        await call(_closer(outermost))


def _from_the_inside(one: Any) -> Iterator[Any]:
    """The pages, then the contexts, then the browser."""
    for attribute in ("contexts", "pages"):
        inner = getattr(one, attribute, ())
        for part in tuple(inner) if _several(inner) else ():
            yield from _from_the_inside(part)
    yield one


def _closer(one: Any) -> Any:
    for method in ("quit", "close", "stop"):  # Selenium's close() closes one window only
        if callable(close := getattr(one, method, None)):
            return close
    raise CloseFailed(f"{type(one).__name__} has no way to be closed")


def _is_open(one: Any) -> bool:
    for method, when_open in (("is_connected", True), ("is_closed", False)):
        ask = getattr(one, method, None)
        if callable(ask) and not inspect.iscoroutinefunction(ask):
            return bool(ask()) is when_open
    if hasattr(one, "quit"):
        return getattr(one, "session_id", True) is not None
    return True


def _pid_of(one: Any) -> int | None:
    """The pid of the browser, or of the driver that started it."""
    for holder in (getattr(one, "service", None), one):
        pid = getattr(getattr(holder, "process", None), "pid", None)
        if isinstance(pid, int):
            return pid
    return _pid_by_playwright(one) if hasattr(one, "contexts") else None


def _pid_by_playwright(browser: Any) -> int | None:
    # Playwright tells no pid. Its driver is a child of ours, and the browser a child of the driver:
    # known for certain only as long as it is the only one.
    found = browser
    for attribute in ("_impl_obj", "_connection", "_transport", "_proc", "pid"):
        found = getattr(found, attribute, None)
    if not isinstance(found, int):
        return None
    try:
        children = psutil.Process(found).children()
    except psutil.Error:
        return None
    return children[0].pid if len(children) == 1 else None


def _several(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))
