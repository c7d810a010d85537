"""Frames between a keeper and a runner: four bytes of length, then msgpack.

The limit is generous: anything larger than a result or an argument goes through files. A message
about many jobs is split into several frames if it is too large for one. A report that cannot be
encoded is replaced, because it would take the reports of other jobs with it.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import msgspec

from tenure.errors import InputRefused
from tenure.runtime.messages import AttemptReports, Endings, FromKeeper, FromRunner, Message, Start
from tenure.runtime.salvage import readable, sendable, unsent

MAX_BYTES = 64 << 20
_HEAD = 4

M = TypeVar("M")
_encoder = msgspec.msgpack.Encoder()
from_keeper: msgspec.msgpack.Decoder[FromKeeper] = msgspec.msgpack.Decoder(FromKeeper)
from_runner: msgspec.msgpack.Decoder[FromRunner] = msgspec.msgpack.Decoder(FromRunner)


def frame(message: Message) -> bytes:
    body = _encode(message)
    if len(body) > MAX_BYTES:
        return b"".join(frame(half) for half in _halves(message, len(body)))
    return len(body).to_bytes(_HEAD, "big") + body


def _halves(message: Message, size: int) -> tuple[Message, Message]:
    too_large = f"a message of {size} bytes is more than {MAX_BYTES}"
    kind: Any = type(message)
    match message:
        case Start(many) | Endings(many) | AttemptReports(many) if len(many) > 1:
            middle = len(many) // 2
            return kind(many[:middle]), kind(many[middle:])
        case AttemptReports((item,)) | Endings((item,)) if (
            lost := unsent(item, too_large)
        ) != item:
            return kind((lost,)), kind(())
        case _:
            raise InputRefused(too_large)


def _encode(message: Message) -> bytes:
    try:
        return _encoder.encode(message)
    except Exception:  # noqa: BLE001 - reports of jobs may hold anything
        return _encoder.encode(sendable(message))


class Frames(Generic[M]):
    """Decodes messages from bytes as they arrive."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[M]) -> None:
        self._decode = decoder.decode
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[M]:
        buffer = self._buffer
        buffer += data
        start, end = 0, len(buffer)
        messages = []
        with memoryview(buffer) as view:
            while end - start >= _HEAD:
                size = int.from_bytes(view[start : start + _HEAD], "big")
                if size > MAX_BYTES:
                    raise InputRefused(f"a frame of {size} bytes is more than {MAX_BYTES}")
                if end - start < _HEAD + size:
                    break
                messages.append(self._read(view[start + _HEAD : start + _HEAD + size]))
                start += _HEAD + size
        if start:
            del buffer[:start]
        return messages

    def _read(self, body: memoryview) -> M:
        try:
            return self._decode(body)
        except msgspec.ValidationError as problem:
            return cast("M", readable(body, problem))


class Channel(asyncio.Protocol, Generic[M]):
    """One end of the wire in an event loop."""

    def __init__(
        self,
        decoder: msgspec.msgpack.Decoder[M],
        receive: Callable[[M], None],
        lost: Callable[[], None],
    ) -> None:
        self._frames = Frames(decoder)
        self._receive = receive
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    async def open(self, sock: socket.socket) -> None:
        await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)

    def send(self, message: Message) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame(message))

    async def drain(self) -> None:
        """Wait until everything sent has been passed to the kernel."""
        await self._writable.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=1)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        for message in self._frames.feed(data):
            self._receive(message)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self._writable.set()
        self._lost()


class PlainChannel(Generic[M]):
    """One end of the wire in plain code. Any thread may send; only one may receive."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[M], sock: socket.socket) -> None:
        self.sock = sock
        self._frames = Frames(decoder)
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        with self._sending:
            self.sock.sendall(frame(message))

    def receive(self) -> list[M]:
        """Wait for the next messages; return none if the other end is gone."""
        while True:
            data = self.sock.recv(1 << 18)
            if not data:
                return []
            if messages := self._frames.feed(data):
                return messages
