"""Differences between operating systems. Clients run everywhere, workers on Linux."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from tenure.errors import TenureError
from tenure.runtime.guard.system import PORTABLE

T = TypeVar("T")


def require_worker_platform() -> None:
    """Refuse to run a worker where processes cannot be controlled."""
    if sys.platform == "linux" or (PORTABLE and sys.platform != "win32"):
        return
    portable = "" if sys.platform == "win32" else "; for development, set TENURE_PORTABLE=1"
    raise TenureError(
        f"a worker needs Linux, and this is {sys.platform}: run it in a container or a virtual "
        f"machine{portable}; enqueueing, reading and stopping jobs work here"
    )


def run_in_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the fastest event loop that is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(main)
    return uvloop.run(main)
