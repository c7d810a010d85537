"""Browsers, their contexts and their pages, of Playwright and Selenium.

Neither is imported: objects are recognised by their methods.
"""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil

from tenure.errors import CloseFailed
from tenure.runtime.resources.calls import call, is_done_within, within
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.process import ProcessResourceManager

AGAIN_PATIENCE = 0.3  # seconds for the second close of an object without a process of its own


class BrowserResourceManager(ResourceManager):
    """Browsers, contexts, pages or Selenium drivers; each is closed from the inside out.

    A force close kills the process of a browser if its pid is known or given. A context or a page
    may share its browser with others, so it is closed once more and nothing is killed.
    """

    def __init__(self, contexts: Any = None, *, pid: int | None = None) -> None:
        if contexts is None:
            contexts = []
        self.contexts: list[Any] = list(contexts) if _several(contexts) else [contexts]
        self.pid = pid

    def add_context(self, context: Any) -> Any:
        """Close this context too; return it."""
        self.contexts.append(context)
        return context

    @property
    def same_thread(self) -> bool:  # type: ignore[override]
        """Playwright's plain API works in a single thread only, and outside of any event loop."""
        return any(
            type(context).__module__.startswith("playwright.sync_api") for context in self.contexts
        )

    def is_active(self) -> bool:
        return any(_is_open(context) for context in self.contexts)

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        if self.same_thread:
            for context in self.contexts:
                *inner, outermost = _from_the_inside(context)
                for layer in inner:
                    with suppress(Exception):
                        _closer(layer)()
                _closer(outermost)()
            return True
        return await is_done_within(timeout_seconds, self._close_all())

    async def force_close(self) -> None:
        known = [(context, self.pid or _pid_of(context)) for context in self.contexts]
        pids = {pid for _, pid in [(None, self.pid), *known] if pid}
        await asyncio.gather(*(ProcessResourceManager(pid).force_close() for pid in pids))
        rest = [context for context, pid in known if pid is None and _is_open(context)]
        if rest and self.same_thread:
            raise CloseFailed("a browser of Playwright's plain API closes in its own thread only")
        await asyncio.gather(*(within(AGAIN_PATIENCE, call(_closer(context))) for context in rest))

    async def _close_all(self) -> None:
        outcomes = await asyncio.gather(
            *(_close_from_the_inside(context) for context in self.contexts), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


async def _close_from_the_inside(context: Any) -> None:
    *inner, outermost = _from_the_inside(context)
    for layer in inner:
        with suppress(Exception):  # the layer around it closes it too
            await call(_closer(layer))
    if _is_open(outermost):
        await call(_closer(outermost))


def _from_the_inside(context: Any) -> Iterator[Any]:
    """Yield the pages, then the contexts, then the browser."""
    for attribute in ("contexts", "pages"):
        inner = getattr(context, attribute, ())
        for part in tuple(inner) if _several(inner) else ():
            yield from _from_the_inside(part)
    yield context


def _closer(context: Any) -> Any:
    for method in ("quit", "close", "stop"):  # Selenium's close() closes a single window only
        if callable(close := getattr(context, method, None)):
            return close
    raise CloseFailed(f"{type(context).__name__} has no way to be closed")


def _is_open(context: Any) -> bool:
    for method, when_open in (("is_connected", True), ("is_closed", False)):
        ask = getattr(context, method, None)
        if callable(ask) and not inspect.iscoroutinefunction(ask):
            return bool(ask()) is when_open
    if hasattr(context, "quit"):
        return getattr(context, "session_id", True) is not None
    return True


def _pid_of(context: Any) -> int | None:
    """Return the pid of the browser, or of the driver that started it."""
    for holder in (getattr(context, "service", None), context):
        pid = getattr(getattr(holder, "process", None), "pid", None)
        if isinstance(pid, int):
            return pid
    return _pid_by_playwright(context) if hasattr(context, "contexts") else None


def _pid_by_playwright(browser: Any) -> int | None:
    # Playwright has no pid. Its driver is our child, and the browser is a child of the driver:
    # known for certain only while the driver has no other child.
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
