"""Waiting in an event loop for what comes true, with a deadline."""

import asyncio
import time
from collections.abc import Callable


async def soon(claim: Callable[[], object], what: str = "it") -> None:
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline, f"{what} never came true"
        await asyncio.sleep(0.005)
