"""Viewers as a browser with the page open is one: a stream of events, and looks at what is new.

They look no more often than the page says, and never twice at once.
"""

import asyncio
import random
import re
import time
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Any, Self

import uvloop

from bench.api_asking import get, is_whole

SHORTEST = 0.25  # seconds between two looks
PATIENCE = 60.0  # seconds for all of them to be told once
_PAUSE = re.compile(rb'data-pause="([0-9]+)"')
_EVENT = re.compile(rb"id: ([0-9a-f]+)\nevent: [a-z]+\ndata: \{\}\n\n")


class Viewers:
    """In an event loop of their own, from the first event that each was told until the end."""

    def __init__(self, place: tuple[str, int], path: str, secrets: list[str], number: int) -> None:
        self._place, self._path = place, path
        cookies = [f"cookie: tenure_session={secret}\r\n" for secret in secrets]
        self._viewers = [_Viewer(place, path, cookies[n % len(cookies)]) for n in range(number)]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=lambda: uvloop.run(self._run()))

    @property
    def told(self) -> list[dict[str, float]]:
        """When each was told of which event."""
        return [viewer.told for viewer in self._viewers]

    @property
    def looks(self) -> int:
        return sum(viewer.looks for viewer in self._viewers)

    def check(self) -> None:
        for viewer in self._viewers:
            if viewer.problem is not None:
                raise RuntimeError(f"a viewer was not served: {viewer.problem}")

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        for viewer in self._viewers:
            await self._loop.create_connection(partial(_Streamed, viewer), *self._place)
        await self._over.wait()
        for viewer in self._viewers:
            viewer.close()

    def __enter__(self) -> Self:
        self._thread.start()
        until = time.monotonic() + PATIENCE
        while not all(viewer.told and viewer.looks for viewer in self._viewers):
            self.check()
            if time.monotonic() > until:
                raise RuntimeError(f"not within {PATIENCE:g} s: every viewer has looked")
            time.sleep(0.01)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


class _Viewer:
    """Looks as a browser does: by one connection, and by another when the server closed that."""

    def __init__(self, place: tuple[str, int], path: str, cookie: str) -> None:
        self._place = place
        self.stream = get(f"{path}/live", cookie)
        self.page = get(path, f"{cookie}x-fragment: main\r\n")
        self.told: dict[str, float] = {}
        self.looks = 0
        self.pause = SHORTEST
        self.problem: str | None = None
        self._is_waiting = False
        self._is_looking = False
        self._is_wanted = False
        self.streaming: Any = None
        self.looking: Any = None
        self._connecting: asyncio.Future[Any] | None = None
        self._is_closed = False

    def hear(self, event: str) -> None:
        self.told.setdefault(event, time.monotonic())
        self.soon()

    def soon(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            delay = random.uniform(SHORTEST, self.pause)  # noqa: S311
            asyncio.get_running_loop().call_later(delay, self._look)

    def _look(self) -> None:
        self._is_waiting = False
        if self._is_looking:
            self._is_wanted = True
            return
        self._is_looking = True
        if self.looking is not None and not self.looking.is_closing():
            self.looking.write(self.page)
            return
        make = asyncio.get_running_loop().create_connection
        self._connecting = asyncio.ensure_future(make(partial(_Looked, self), *self._place))

    def looked(self, answer: bytes) -> None:
        self._is_looking = False
        self.looks += 1
        if found := _PAUSE.search(answer):
            self.pause = int(found[1]) / 1000
        if self._is_wanted:
            self._is_wanted = False
            self.soon()

    def lost(self) -> None:
        """The server has closed an idle connection, perhaps just when it was to be used again."""
        if self._is_looking and not self._is_closed:
            self._is_looking = False
            self.soon()

    def close(self) -> None:
        self._is_closed = True
        for transport in (self.streaming, self.looking):
            if transport is not None:
                transport.abort()


class _Streamed(asyncio.Protocol):
    def __init__(self, viewer: _Viewer) -> None:
        self._viewer = viewer
        self._heard = b""

    def connection_made(self, transport: Any) -> None:
        self._viewer.streaming = transport
        transport.write(self._viewer.stream)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        end = 0
        for found in _EVENT.finditer(self._heard):
            self._viewer.hear(found[1].decode())
            end = found.end()
        self._heard = self._heard[end:]
        if self._heard.startswith(b"HTTP/1.1 ") and not self._heard.startswith(b"HTTP/1.1 200"):
            self._viewer.problem = self._heard[:500].decode(errors="replace")


class _Looked(asyncio.Protocol):
    def __init__(self, viewer: _Viewer) -> None:
        self._viewer = viewer
        self._heard = b""

    def connection_made(self, transport: Any) -> None:
        self._viewer.looking = transport
        transport.write(self._viewer.page)

    def connection_lost(self, _: Exception | None) -> None:
        self._viewer.lost()

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if is_whole(self._heard):
            if not self._heard.startswith(b"HTTP/1.1 200"):
                self._viewer.problem = self._heard[:500].decode(errors="replace")
            answer, self._heard = self._heard, b""
            self._viewer.looked(answer)
