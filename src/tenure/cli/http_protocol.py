"""HTTP connections with bounds: on how many there are, and on how long a slow client holds one.

uvicorn bounds how long a connection may be idle between two requests, and nothing else.
"""

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedConfig(uvicorn.Config):
    """The configuration of a server whose connections are bounded."""

    def __init__(
        self, app: Any, *, request_timeout: float, max_connections: int, **options: Any
    ) -> None:
        super().__init__(app, http=BoundedProtocol, **options)
        self.request_timeout = request_timeout  # seconds
        self.max_connections = max_connections


class BoundedProtocol(H11Protocol):
    """A connection that is cut when its client neither sends nor reads on in time.

    A request has to arrive whole, with its headers and its body, within the timeout. An answer that
    the client does not read blocks nothing for longer than that. At the limit of connections the
    one that has waited longest for a request makes room for a new one.
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
        self._watch_arrival()  # the next request may have begun to arrive together with this one

    @property
    def is_waiting(self) -> bool:
        """Return whether there is no whole request that is yet to be answered."""
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
