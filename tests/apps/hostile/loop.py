"""Code that leaves something in the event loop: tasks, timers, callbacks, servers."""

import asyncio
import contextvars
import os
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

from tests.apps.hostile.beats import AT_MOST, EVERY, Here
from tests.apps.hostile.kinds import KEPT, kind


async def _beating(here: Here) -> None:
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        here.beat()
        await asyncio.sleep(EVERY)


async def _stubborn(here: Here) -> None:
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        try:
            here.beat()
            await asyncio.sleep(EVERY)
        except BaseException:  # noqa: BLE001 - that is the kind
            continue


@kind("loop", ("async",), attributed=True)
async def task(here: Here) -> None:
    """asyncio.create_task that nobody awaits."""
    KEPT.append(asyncio.create_task(_beating(here)))


@kind("loop", ("async",), attributed=True)
async def task_by_hand(here: Here) -> None:
    """A task made by asyncio.Task(...), past the task factory."""
    KEPT.append(asyncio.Task(_beating(here), loop=asyncio.get_running_loop()))


@kind("loop", ("async",))
async def task_without_context(here: Here) -> None:
    """create_task with an empty context."""
    loop = asyncio.get_running_loop()
    KEPT.append(loop.create_task(_beating(here), context=contextvars.Context()))


@kind("loop", ("async",))
async def task_by_hand_without_context(here: Here) -> None:
    """asyncio.Task(...) with an empty context."""
    loop = asyncio.get_running_loop()
    KEPT.append(asyncio.Task(_beating(here), loop=loop, context=contextvars.Context()))


@kind("loop", ("async",), named=True)
async def task_that_swallows(here: Here) -> None:
    """A task that swallows CancelledError for ever."""
    KEPT.append(asyncio.create_task(_stubborn(here)))


@kind("loop", ("async",), attributed=True)
async def shielded_task(here: Here) -> None:
    """A task behind asyncio.shield."""
    KEPT.append(asyncio.shield(asyncio.create_task(_beating(here))))


@kind("loop", ("async",))
async def phoenix_task(here: Here) -> None:
    """A task whose done-callback starts it again."""

    def again(_done: object = None) -> None:
        beating = asyncio.get_running_loop().create_task(_beating(here))
        beating.add_done_callback(again)
        KEPT.append(beating)

    again()


@kind("loop", ("async",))
async def task_with_last_words(here: Here) -> None:
    """A task that starts another one in its finally."""

    async def run() -> None:
        try:
            await _beating(here)
        finally:
            KEPT.append(asyncio.create_task(run()))

    KEPT.append(asyncio.create_task(run()))


@kind("loop", ("async",))
async def task_of_a_task(here: Here) -> None:
    """A task that was created by a task, which has ended."""

    async def start() -> None:
        KEPT.append(asyncio.create_task(_beating(here)))

    await asyncio.create_task(start())


@kind("loop", ("async",))
async def task_from_a_thread(here: Here) -> None:
    """run_coroutine_threadsafe from a thread with an empty context."""
    loop = asyncio.get_running_loop()

    def start() -> None:
        KEPT.append(asyncio.run_coroutine_threadsafe(_beating(here), loop))

    starter = threading.Thread(target=start)
    contextvars.Context().run(starter.start)
    await asyncio.sleep(0)


def _chain(here: Here, schedule: Callable[[Callable[[], None]], object]) -> None:
    until = time.monotonic() + AT_MOST

    def fire() -> None:
        here.beat()
        if time.monotonic() < until:
            schedule(fire)

    schedule(fire)


@kind("loop", ("async",))
async def call_soon_chain(here: Here) -> None:
    """A chain of call_soon."""
    loop = asyncio.get_running_loop()

    def schedule(fire: Callable[[], None]) -> object:
        time.sleep(0.002)
        return loop.call_soon(fire)

    _chain(here, schedule)


@kind("loop", ("async",))
async def call_later_chain(here: Here) -> None:
    """A chain of call_later."""
    loop = asyncio.get_running_loop()
    _chain(here, lambda fire: loop.call_later(EVERY, fire))


@kind("loop", ("async",))
async def call_at_chain(here: Here) -> None:
    """A chain of call_at with an empty context."""
    loop = asyncio.get_running_loop()
    empty = contextvars.Context()
    _chain(here, lambda fire: loop.call_at(loop.time() + EVERY, fire, context=empty))


@kind("loop", ("async",), beats=False)
async def call_later_once(here: Here) -> None:
    """A single call_later that comes due after the stop."""
    asyncio.get_running_loop().call_later(1.3, here.beat)


@kind("loop", ("async",))
async def threadsafe_chain(here: Here) -> None:
    """A thread that calls call_soon_threadsafe again and again."""
    loop = asyncio.get_running_loop()

    def run() -> None:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            loop.call_soon_threadsafe(here.beat)
            time.sleep(EVERY)

    threading.Thread(target=run, daemon=True).start()


@kind("loop", ("async",))
async def reader(here: Here) -> None:
    """add_reader on a pipe that is always readable."""
    readable, writable = os.pipe()
    os.write(writable, b"x")

    def ready() -> None:
        here.beat()
        time.sleep(0.005)

    asyncio.get_running_loop().add_reader(readable, ready)


@kind("loop", ("async",))
async def writer(here: Here) -> None:
    """add_writer on a socket that is always writable."""
    ours, theirs = socket.socketpair()
    KEPT.append((ours, theirs))

    def ready() -> None:
        here.beat()
        time.sleep(0.005)

    contextvars.Context().run(asyncio.get_running_loop().add_writer, ours, ready)


class _PingPong(asyncio.Protocol):
    """Answers everything that comes, with a beat."""

    def __init__(self, here: Here, begins: bool) -> None:
        self.here = here
        self.begins = begins

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self.begins:
            transport.write(b".")

    def data_received(self, data: bytes) -> None:
        self.here.beat()
        time.sleep(0.005)
        self.transport.write(data)


def _port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


@kind("loop", ("async",))
async def protocol_server(here: Here) -> None:
    """create_server with a protocol, and a client that talks to it for ever."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _PingPong(here, False), "127.0.0.1", 0)
    KEPT.append(server)
    here.name_port(_port_of(server))
    await loop.create_connection(lambda: _PingPong(here, True), "127.0.0.1", _port_of(server))


@kind("loop", ("async",), beats=False)
async def stream_server(here: Here) -> None:
    """asyncio.start_server that waits for clients."""

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here.beat()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    KEPT.append(server)
    here.name_port(_port_of(server))


class _Echo(asyncio.DatagramProtocol):
    def __init__(self, here: Here) -> None:
        self.here = here

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.sendto(b".", transport.get_extra_info("sockname"))

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.here.beat()
        time.sleep(0.005)
        self.transport.sendto(data, addr)


@kind("loop", ("async",))
async def datagram_endpoint(here: Here) -> None:
    """A datagram endpoint that writes to itself for ever."""
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: _Echo(here), local_addr=("127.0.0.1", 0))


@kind("loop", ("async",))
async def async_generator(here: Here) -> None:
    """An async generator that survives its close, driven by a task."""

    async def numbers() -> AsyncGenerator[int, None]:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            try:
                here.beat()
                await asyncio.sleep(EVERY)
                yield 1
            except (GeneratorExit, asyncio.CancelledError):
                continue

    async def drive() -> None:
        async for _ in numbers():
            pass

    KEPT.append(asyncio.create_task(drive()))


@kind("loop", ("async",))
async def future_relay(here: Here) -> None:
    """Futures whose done-callbacks resolve the next future."""
    loop = asyncio.get_running_loop()
    until = time.monotonic() + AT_MOST

    def pass_on(_done: object) -> None:
        here.beat()
        time.sleep(0.002)
        if time.monotonic() < until:
            following = loop.create_future()
            following.add_done_callback(pass_on)
            following.set_result(None)

    pass_on(None)


@kind("loop", ("async",))
async def executor_relay(here: Here) -> None:
    """run_in_executor whose done-callback submits the next call."""
    loop = asyncio.get_running_loop()
    until = time.monotonic() + AT_MOST

    def work() -> None:
        here.beat()
        time.sleep(EVERY)

    def again(_done: object = None) -> None:
        if time.monotonic() < until:
            loop.run_in_executor(None, work).add_done_callback(again)

    again()


@kind("loop", ("async",))
async def replaced_factory(here: Here) -> None:
    """A task factory of its own, and then tasks."""
    loop = asyncio.get_running_loop()

    def make(loop: Any, coroutine: Any, **options: Any) -> Any:
        return asyncio.Task(coroutine, loop=loop, **options)

    loop.set_task_factory(make)
    KEPT.append(asyncio.create_task(_beating(here)))


@kind("loop", ("async",))
async def subprocess_protocol(here: Here) -> None:
    """loop.subprocess_exec with a protocol that beats on all the output of a child."""

    class Protocol(asyncio.SubprocessProtocol):
        def pipe_data_received(self, _fd: int, _data: bytes) -> None:
            here.beat()

    loop = asyncio.get_running_loop()
    chatter = "while :; do echo x; sleep 0.02; done"
    KEPT.append(await loop.subprocess_exec(Protocol, "sh", "-c", chatter))
