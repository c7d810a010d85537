"""Which manager a thing gets."""

import inspect
from typing import Any

from tenure.errors import InputRefused
from tenure.runtime.resources.adapters import (
    ClosableResourceManager,
    EnteredResourceManager,
    ForeignResourceManager,
)
from tenure.runtime.resources.browser import BrowserResourceManager
from tenure.runtime.resources.http import HTTPResourceManager
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.process import ProcessResourceManager


def resource_for(thing: Any) -> ResourceManager:
    """Return the manager that can close an object; a manager is returned as it is."""
    if isinstance(thing, ResourceManager):
        return thing
    if isinstance(thing, type):
        raise InputRefused(f"{thing.__name__} is a class; pass an instance of it")
    if _has(thing, "close_gracefully", "force_close", "is_active"):
        return ForeignResourceManager(thing)
    if _has(thing, "terminate", "kill") and hasattr(thing, "pid"):
        return ProcessResourceManager(thing)
    if _is_browser(thing):
        return BrowserResourceManager(thing)
    if _has(thing, "get", "request") and (_has(thing, "aclose") or _has(thing, "close")):
        return HTTPResourceManager(thing)
    if _waits_to_be_entered(thing):
        raise InputRefused(f"{_name(thing)} was not entered; pass it to enter() or aenter()")
    if _has(thing, "aclose") or _has(thing, "close"):
        return ClosableResourceManager(thing)
    if _has(thing, "__aexit__") or _has(thing, "__exit__"):
        return EnteredResourceManager(thing)
    raise InputRefused(
        f"{_name(thing)} cannot be closed: it has neither aclose nor close, and is not "
        f"a context manager"
    )


def _is_browser(thing: Any) -> bool:
    return (
        _has(thing, "quit", "get_window_size")  # Selenium
        or _has(thing, "new_page", "close")  # Playwright: a browser, a context
        or _has(thing, "goto", "close")  # a page
        or (_has(thing, "stop") and hasattr(thing, "chromium"))  # Playwright itself
    )


def _waits_to_be_entered(thing: Any) -> bool:
    """Tell whether a context manager made by ``contextlib`` was not entered yet."""
    body = getattr(thing, "gen", None)
    if inspect.isgenerator(body):
        return inspect.getgeneratorstate(body) == inspect.GEN_CREATED
    return inspect.isasyncgen(body) and body.ag_frame is not None and body.ag_frame.f_lasti <= 0


def _has(thing: Any, *methods: str) -> bool:
    return all(callable(getattr(thing, method, None)) for method in methods)


def _name(thing: Any) -> str:
    return type(thing).__name__
