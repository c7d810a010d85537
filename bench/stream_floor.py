"""The least that a server of streams can cost: the same bytes to each reader, by a bare ASGI app.

It asks no database, knows no jobs and has one task for each connection, as every ASGI server has.
"""

import asyncio
import time

from starlette.types import Receive, Scope, Send

TIMES = 50  # values that each reader gets
EVERY = 0.2  # seconds between two values
BEGIN = "/begin"  # asks for the values; every other path is a reader

_STATUS = b'id: 0.0a1b2c3d.\nevent: status\ndata: {"status":"%b","attempt":1,"reason":null}\n\n'
_VALUE = b"id: %d.0a1b2c3d.\nevent: partial\ndata: %r\n\n"


class StreamFloor:
    def __init__(self, _url: str) -> None:
        self._readers: list[asyncio.Future[bytes]] = []
        self._writing: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == BEGIN:
            self._writing = asyncio.create_task(self._write())
        else:
            await self._read(send)
        await send({"type": "http.response.body"})

    async def _read(self, send: Send) -> None:
        chunk = _STATUS % b"running"
        while chunk:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            news = asyncio.get_running_loop().create_future()
            self._readers.append(news)
            chunk = await news

    async def _write(self) -> None:
        for number in range(TIMES):
            await asyncio.sleep(EVERY)
            self._tell(_VALUE % (number, time.time()))
        await asyncio.sleep(EVERY)
        self._tell(_STATUS % b"completed")
        await asyncio.sleep(EVERY)
        self._tell(b"")

    def _tell(self, chunk: bytes) -> None:
        readers, self._readers = self._readers, []
        for reader in readers:
            reader.set_result(chunk)
