"""Everything else that closes, and which manager a thing gets."""

import asyncio
import contextlib
import io
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.errors import CloseFailed, InputRefused
from tenure.resources import (
    CleanupCoordinator,
    ClosableResourceManager,
    EnteredResourceManager,
    HTTPResourceManager,
    ProcessResourceManager,
    ResourceManager,
    resource_for,
)


class Session:
    """A context manager with nothing else; remembers why it was left."""

    def __init__(self) -> None:
        self.left: list[Any] = []

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.left.append(error)


def test_each_thing_gets_its_manager() -> None:
    client = httpx.Client()
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    assert isinstance(resource_for(client), HTTPResourceManager)
    assert isinstance(resource_for(process), ProcessResourceManager)
    assert isinstance(resource_for(io.BytesIO()), ClosableResourceManager)
    assert isinstance(resource_for(Session()), EnteredResourceManager)
    manager = HTTPResourceManager(client)
    assert resource_for(manager) is manager
    client.close()


@contextlib.contextmanager
def a_block() -> Iterator[str]:
    yield "inside"


@contextlib.asynccontextmanager
async def an_async_block() -> AsyncIterator[str]:
    yield "inside"


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (object(), "object cannot be closed: it has neither aclose nor close"),
        (4711, "int cannot be closed"),
        (io.BytesIO, "BytesIO is a class; pass an instance of it"),
        (a_block(), "was not entered; pass it to enter"),
        (an_async_block(), "was not entered; pass it to enter"),
    ],
)
def test_what_cannot_be_closed_is_refused_with_a_sentence(thing: Any, sentence: str) -> None:
    with pytest.raises(InputRefused, match=sentence):
        resource_for(thing)


def test_a_block_that_was_entered_can_be_added() -> None:
    async def run() -> None:
        block, async_block = a_block(), an_async_block()
        block.__enter__()
        await async_block.__aenter__()
        resources = CleanupCoordinator()
        resources.add(block)
        resources.add(async_block)
        assert (await resources.aclose())["failed"] == []
        with pytest.raises(StopIteration):
            next(block.gen)

    asyncio.run(run())


def test_a_manager_of_somebody_else_needs_only_its_three_methods() -> None:
    class Theirs:
        closed_within = 0.0

        def close_gracefully(self, timeout_seconds: float) -> bool:
            self.closed_within = timeout_seconds
            return True

        async def force_close(self) -> None: ...

        def is_active(self) -> bool:
            return True

    theirs = Theirs()
    manager = resource_for(theirs)
    assert manager.is_active()
    assert manager.name == "Theirs"
    assert asyncio.run(manager.close_gracefully(7))
    assert theirs.closed_within == 7


def test_a_plain_close_never_blocks_the_event_loop() -> None:
    class Blocking:
        def __init__(self) -> None:
            self.release = threading.Event()

        def close(self) -> None:
            assert self.release.wait(10)

    async def run() -> None:
        blocking = Blocking()
        closing = asyncio.create_task(resource_for(blocking).close_gracefully(10))
        await asyncio.sleep(0)
        blocking.release.set()  # reached only if the loop continues
        assert await closing

    asyncio.run(run())


def test_by_force_a_thing_is_aborted_if_it_can_be() -> None:
    class Connection:
        aborted = closed = False

        def terminate(self) -> None:
            self.aborted = True

        async def close(self) -> None:
            self.closed = True

    connection = Connection()
    asyncio.run(resource_for(connection).force_close())
    assert connection.aborted
    assert not connection.closed


def test_by_force_a_socket_lets_go_of_the_thread_that_reads_from_it() -> None:
    ours, theirs = socket.socketpair()

    def read() -> None:
        with contextlib.suppress(OSError):  # the socket may be closed before it is read from
            ours.recv(1)

    reading = threading.Thread(target=read)
    reading.start()
    asyncio.run(resource_for(ours).force_close())
    reading.join(10)
    assert not reading.is_alive()
    theirs.close()


def test_a_stream_of_asyncio_is_closed_in_its_own_loop() -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        _, writer = await asyncio.open_connection(sock=ours)
        assert await resource_for(writer).close_gracefully()
        assert theirs.recv(1) == b""
        theirs.close()

    asyncio.run(run())


def test_what_belongs_to_a_loop_is_closed_in_its_thread() -> None:
    class Server:
        calls: list[tuple[str, threading.Thread]] = []

        def close(self) -> None:
            self.calls.append(("close", threading.current_thread()))

        async def wait_closed(self) -> None:
            self.calls.append(("wait_closed", threading.current_thread()))

    assert asyncio.run(resource_for(Server()).close_gracefully())
    here = threading.current_thread()
    assert Server.calls == [("close", here), ("wait_closed", here)]


def test_by_force_a_stream_of_asyncio_is_aborted() -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        _, writer = await asyncio.open_connection(sock=ours)
        await resource_for(writer).force_close()
        assert writer.transport.is_closing()
        await asyncio.sleep(0)
        theirs.close()

    asyncio.run(run())


def test_a_connection_of_sqlite_is_closed_in_the_thread_that_opened_it(tmp_path: Path) -> None:
    resources = CleanupCoordinator()
    connection = resources.add(sqlite3.connect(tmp_path / "db"))
    assert resources.close()["graceful_close_succeeded"] == ["Connection"]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_block_with_no_other_way_out_cannot_be_forced() -> None:
    with pytest.raises(CloseFailed, match="Session has no way to be closed by force"):
        asyncio.run(resource_for(Session()).force_close())


def test_a_block_hears_of_the_error_that_ended_the_job() -> None:
    failed, fine = Session(), Session()
    error = ValueError("the job failed")
    for session, why in ((failed, error), (fine, None)):
        resources = CleanupCoordinator()
        assert resources.enter(session) is session
        assert resources.close(error=why)["failed"] == []
    assert failed.left == [error]
    assert fine.left == [None]


class FalsyError(Exception):
    """An error that is empty, like a collection."""

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("method", ["__exit__", "__aexit__"])
def test_a_block_gets_the_class_of_an_error_that_is_false(method: str) -> None:
    kinds: list[Any] = []

    class Block:
        def _exit(self, kind: Any, *_: Any) -> None:
            kinds.append(kind)

        async def _aexit(self, kind: Any, *_: Any) -> None:
            kinds.append(kind)

    setattr(Block, method, Block._exit if method == "__exit__" else Block._aexit)
    resources = CleanupCoordinator()
    resources.add(Block())
    assert resources.close(error=FalsyError())["failed"] == []
    assert kinds == [FalsyError]


class Raising(Session):
    """Hands on what it hears by raising it, in place of letting it through."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        super().__exit__(kind, error, traceback)
        if error:
            raise error


class RaisingAsync(Raising):
    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        super().__exit__(kind, error, traceback)


@pytest.mark.parametrize("kind", [Raising, RaisingAsync])
@pytest.mark.parametrize("error", [ValueError("the job failed"), asyncio.CancelledError()])
def test_a_block_that_raises_the_error_of_the_job_again_was_left(
    kind: type[Raising], error: BaseException
) -> None:
    resources = CleanupCoordinator()
    session = resources.add(kind())
    assert resources.close(error=error)["failed"] == []
    assert session.left == [error]


def test_an_async_block_is_left_by_the_task_that_entered_it() -> None:
    tasks: list[Any] = []
    errors: list[BaseException | None] = []

    @contextlib.asynccontextmanager
    async def block() -> AsyncIterator[str]:
        tasks.append(asyncio.current_task())
        try:
            yield "inside"
        except ValueError as error:
            errors.append(error)
            raise
        finally:
            tasks.append(asyncio.current_task())

    async def run() -> None:
        resources = CleanupCoordinator()
        assert await resources.aenter(block(), name="block") == "inside"
        report = await resources.aclose(error=ValueError("the job failed"))
        assert report["graceful_close_succeeded"] == ["block"]

    asyncio.run(run())
    entered, left = tasks
    assert entered is left
    assert len(errors) == 1


def test_a_block_that_cannot_be_entered_raises_there_and_is_not_registered() -> None:
    @contextlib.asynccontextmanager
    async def block() -> AsyncIterator[str]:
        raise OSError("no such host")
        yield "never"

    async def run() -> None:
        resources = CleanupCoordinator()
        with pytest.raises(OSError, match="no such host"):
            await resources.aenter(block())
        assert resources.resources == []

    asyncio.run(run())


def test_a_manager_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ResourceManager()  # type: ignore[abstract]
