"""The server behind ``tenure serve``: how it leaves, and where it listens.

Imports uvicorn, which comes with the extra ``web``.
"""

import asyncio
import errno
import ipaddress
import logging
import socket
from contextlib import AbstractContextManager
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.cli.http_protocol import BoundedConfig
from tenure.config import Settings
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid
from tenure.runtime.leave_signals import leave_signals
from tenure.web.request_guard import LEAVING

log = logging.getLogger("tenure.serve")

_GRACE = 10  # seconds, for requests that are under way when it leaves
_BACKLOG = 2048
_MOST_HEADERS = 32 << 10  # bytes, the path and the query included


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can come in."""
    return all(
        ipaddress.ip_address(str(address[0])).is_loopback for *_, address in _addresses(host, 0)
    )


def bound(host: str, port: int) -> socket.socket:
    """A socket there; who cannot have it is told why."""
    family, _, _, _, address = _addresses(host, port)[0]
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            why = "is in use; stop what listens there, or give another --port"
        else:
            why = f"cannot be had: {error.strerror}"
        raise SettingInvalid(f"port {port} of {host} {why}") from None
    return made


def url_of(made: socket.socket) -> str:
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _addresses(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputRefused(
            f"--host: {shown(host)} is not a host that is known here: {error}"
        ) from None


class Server(uvicorn.Server):
    """Leaves with code 0 when it is asked to; asked again, at once."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._leaving = asyncio.Event()
        super().__init__(
            BoundedConfig(
                Ending(app, self._leaving),
                request_timeout=settings.request_timeout.total_seconds(),
                max_connections=settings.max_connections,
                h11_max_incomplete_event_size=_MOST_HEADERS,
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


class Ending:
    """Ends what would go on for ever: to a stream, a server that leaves is a client that is gone.

    The stream is then closed as if it had come to its end, so that its reader sees no fault.
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
        """What comes after the whole request: that its client is gone, or that we go."""
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
