"""The HTTP server behind ``tenure serve``: its socket, its limits, and its shutdown.

It imports uvicorn, which the extra ``web`` installs.
"""

import asyncio
import errno
import ipaddress
import logging
import socket
from contextlib import AbstractContextManager
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tenure.config import Settings
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid
from tenure.runtime.leave_signals import leave_signals
from tenure.web.request_guard import LEAVING

log = logging.getLogger("tenure.serve")

_GRACE = 10  # seconds, for running requests at shutdown
_BACKLOG = 2048
_MAX_HEADERS = 32 << 10  # bytes, including the path and the query


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can connect."""
    return all(
        ipaddress.ip_address(str(address[0])).is_loopback for *_, address in _addresses(host, 0)
    )


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; a port that is taken is refused."""
    family, _, _, _, address = _addresses(host, port)[0]
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            why = "is in use; stop the program that listens there, or pass another --port"
        else:
            why = f"cannot be opened: {error.strerror}"
        raise SettingInvalid(f"port {port} of {host} {why}") from None
    return made


def url_of(made: socket.socket) -> str:
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _addresses(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputRefused(f"--host: {shown(host)} is not a known host: {error}") from None


_DAY = 86_400  # seconds


class BoundedConfig(uvicorn.Config):
    """A configuration that limits connections."""

    def __init__(
        self, app: Any, *, request_timeout: float, max_connections: int, **options: Any
    ) -> None:
        # BoundedProtocol closes idle connections too, so the timer of uvicorn never fires first.
        super().__init__(app, http=BoundedProtocol, timeout_keep_alive=_DAY, **options)
        self.request_timeout = request_timeout  # seconds
        self.max_connections = max_connections


class BoundedProtocol(H11Protocol):
    """A connection that is closed when its client neither sends nor reads in time.

    A whole request, headers and body, must arrive within the timeout, and a client must read its
    answer within it too. At the limit of connections, the one that has waited longest for a
    request makes room for a new one. An idle connection is closed after the timeout as well.
    """

    config: BoundedConfig
    _arrival: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _waiting_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_arrival()
        if len(self.connections) > self.config.max_connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_arrival()
        self._stop_unread()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_arrival()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_unread()
        self._unread = self.loop.call_later(self.config.request_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_unread()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_arrival()  # the next request may have begun to arrive with this one

    @property
    def is_waiting(self) -> bool:
        """Tell whether no whole request is yet to be answered."""
        return self.conn.their_state is h11.IDLE or self._arrival is not None

    def _watch_arrival(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_arrival()
        elif self._arrival is None and not self.transport.is_closing():
            self._waiting_since = self.loop.time()
            self._arrival = self.loop.call_later(self.config.request_timeout, self.transport.abort)

    def _stop_arrival(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _make_room(self) -> None:
        waiting = [
            other
            for other in self.connections
            if isinstance(other, BoundedProtocol) and other is not self and other.is_waiting
        ]
        longest = min(waiting, key=lambda other: other._waiting_since, default=self)
        longest.transport.abort()


class Server(uvicorn.Server):
    """Shuts down with exit code 0 after a signal; a second signal skips the grace period."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._leaving = asyncio.Event()
        super().__init__(
            BoundedConfig(
                StreamEnding(app, self._leaving),
                request_timeout=settings.request_timeout.total_seconds(),
                max_connections=settings.max_connections,
                h11_max_incomplete_event_size=_MAX_HEADERS,
                proxy_headers=settings.proxies is not None,
                forwarded_allow_ips=settings.proxies,
                lifespan="on",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return leave_signals(lambda _number: self.leave())

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for made in sockets or ():
            log.info("serving on %s", url_of(made))

    def leave(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self._leaving.set()


class StreamEnding:
    """Ends endless streams at shutdown: their code sees a disconnected client.

    The response is then completed, so that its reader sees a normal end.
    """

    def __init__(self, app: ASGIApp, leaving: asyncio.Event) -> None:
        self._app = app
        self._leaving = leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = under_way = False

        async def received() -> Message:
            nonlocal asked
            if asked:
                return await self._next(receive)
            message = await receive()
            asked = not message.get("more_body", False)
            return message

        async def sent(message: Message) -> None:
            nonlocal under_way
            under_way = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        await self._app(scope, received, sent)
        if under_way and self._leaving.is_set():
            await send({"type": "http.response.body"})

    async def _next(self, receive: Receive) -> Message:
        """Return the message after the whole request: a disconnect, also at shutdown."""
        leaving = asyncio.ensure_future(self._leaving.wait())
        message = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({leaving, message}, return_when="FIRST_COMPLETED")
            if message.done():
                return message.result()
            return {"type": "http.disconnect", LEAVING: True}
        finally:
            leaving.cancel()
            message.cancel()
