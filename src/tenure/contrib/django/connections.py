"""The connections of Django in a worker: each job begins without those that are old or broken.

Only workers close connections. In tests, and wherever a task is called like a function, they belong
to the caller.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections
from django.db.backends.signals import connection_created

_PATIENCE = 1.0  # seconds: the thread of the connections may be busy with another job's query


class WorkerConnections:
    """State of this process. Its coroutines share a thread, and so their connections."""

    is_worker = False
    have_been_opened = False  # until then coroutines need not change threads
    coroutines = 0  # that run now


_state = WorkerConnections()


def close_between_jobs() -> None:
    """Make this process a worker: close old connections before and after each job."""
    _state.is_worker = True
    connection_created.connect(_note_connection)


def with_fresh_connections(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a task that gives its connections back, as a request does."""
    if iscoroutinefunction(function):

        @wraps(function)
        async def arun(*args: Any, **kwargs: Any) -> Any:
            await _aclose()
            _state.coroutines += 1
            try:
                return await function(*args, **kwargs)
            finally:
                _state.coroutines -= 1
                await _aclose()

        return arun

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        _close()
        try:
            return function(*args, **kwargs)
        finally:
            _close()

    return run


def _close() -> None:
    if _state.is_worker:
        close_old_connections()


async def _aclose() -> None:
    if _state.is_worker and _state.have_been_opened:
        close = _close_broken_connections if _state.coroutines else close_old_connections
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await sync_to_async(close)()


def _close_broken_connections() -> None:
    """Leave the others open: another coroutine may be reading from a cursor."""
    for connection in connections.all(initialized_only=True):
        if connection.errors_occurred and not connection.is_usable():
            connection.close()


def _note_connection(**_: Any) -> None:
    _state.have_been_opened = True
