"""Whether the database can be used, asked at most once a second, however many want to know."""

import asyncio
import time

from tenure.control.checks import Level
from tenure.control.client import Client
from tenure.control.health import ready

KEPT_FOR = 1.0  # seconds


class Readiness:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self._until = 0.0
        self._is_ready = False

    async def is_ready(self) -> bool:
        async with self._asking:
            if time.monotonic() >= self._until:
                finding = await ready(self._client)
                self._is_ready = finding.level is not Level.WRONG
                self._until = time.monotonic() + KEPT_FOR
            return self._is_ready
