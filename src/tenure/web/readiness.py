"""The readiness of the database, checked at most once a second."""

import asyncio
import time

from tenure.control.checks import Level
from tenure.control.client import Client
from tenure.control.health import ready

CACHED_FOR = 1.0  # seconds


class Readiness:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._is_ready = False

    async def is_ready(self) -> bool:
        async with self._lock:
            if time.monotonic() >= self._until:
                finding = await ready(self._client)
                self._is_ready = finding.level is not Level.WRONG
                self._until = time.monotonic() + CACHED_FOR
            return self._is_ready
