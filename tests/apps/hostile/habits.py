"""Ordinary libraries' habits: what they start at first use and keep for the whole process.

Large libraries are imported at first use: every runner imports this module.
"""

import asyncio
import functools
import http.server
import logging.handlers
import multiprocessing
import multiprocessing.pool
import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx
    import psycopg_pool
    import sqlalchemy

HABITS: dict[str, Callable[[], Any]] = {}


def habit(use: Callable[[], Any]) -> Callable[[], Any]:
    """Add one use of a library; a coroutine function if it needs the event loop."""
    assert use.__doc__, f"{use.__name__} needs a line that describes it"
    HABITS[use.__name__] = use
    return use


def _url() -> str:
    return os.environ["TENURE_DATABASE_URL"]


def _square(number: int) -> int:
    time.sleep(0.02)
    return number * number


THREADS = ThreadPoolExecutor(4)


@habit
def lazy_thread_pool() -> None:
    """A module-level ThreadPoolExecutor."""
    assert list(THREADS.map(_square, range(3))) == [0, 1, 4]


@habit
def own_thread_pool() -> None:
    """A ThreadPoolExecutor of the job's own, closed at its end."""
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(_square, range(3))) == [0, 1, 4]


@functools.cache
def _process_pool(method: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method))


@habit
def process_pool_fork() -> None:
    """A module-level ProcessPoolExecutor by fork."""
    assert _process_pool("fork").submit(_square, 3).result() == 9


@habit
def process_pool_spawn() -> None:
    """A module-level ProcessPoolExecutor by spawn."""
    assert _process_pool("spawn").submit(_square, 3).result() == 9


@habit
async def awaited_process_pool() -> None:
    """A module-level ProcessPoolExecutor that is awaited with run_in_executor."""
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(_process_pool("fork"), _square, 3) == 9


@functools.cache
def _multiprocessing_pool() -> multiprocessing.pool.Pool:
    return multiprocessing.get_context("fork").Pool(1)


@habit
def multiprocessing_pool() -> None:
    """A module-level multiprocessing.Pool."""
    assert _multiprocessing_pool().map(_square, [3]) == [9]


class _Monitor(threading.Thread):
    """As tqdm's: wakes now and then to see whether bars are stale."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.1):
            pass


_monitor = functools.cache(_Monitor)


@habit
async def progress_monitor() -> None:
    """A progress bar with a monitor thread, around 0.1 s of work."""
    _monitor()
    for _ in range(10):
        await asyncio.sleep(0.01)


class _Poller(threading.Thread):
    """As a channel of grpc: polls a queue of events, and answers."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.asked: queue.Queue[queue.Queue[str]] = queue.Queue()
        self.start()

    def run(self) -> None:
        while True:
            try:
                self.asked.get(timeout=0.2).put("pong")
            except queue.Empty:
                continue


_poller = functools.cache(_Poller)


@habit
def channel_poller() -> None:
    """A channel whose background thread polls a queue."""
    answer: queue.Queue[str] = queue.Queue()
    _poller().asked.put(answer)
    assert answer.get(timeout=5) == "pong"


@functools.cache
def _queued_logger() -> logging.Logger:
    lines: queue.Queue[Any] = queue.Queue()
    logger = logging.getLogger("habit")
    logger.propagate = False
    logger.addHandler(logging.handlers.QueueHandler(lines))
    logging.handlers.QueueListener(lines, logging.NullHandler()).start()
    return logger


@habit
def queued_logging() -> None:
    """A QueueHandler with a QueueListener that starts at first use."""
    _queued_logger().warning("a line")


@functools.cache
def _connections() -> "psycopg_pool.ConnectionPool[Any]":
    import psycopg_pool

    return psycopg_pool.ConnectionPool(_url(), min_size=1, max_size=2, open=True)


@habit
def database_pool() -> None:
    """psycopg_pool.ConnectionPool, opened at first use."""
    with _connections().connection() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@functools.cache
def _async_connections() -> "psycopg_pool.AsyncConnectionPool[Any]":
    import psycopg_pool

    return psycopg_pool.AsyncConnectionPool(_url(), min_size=1, max_size=2, open=False)


@habit
async def async_database_pool() -> None:
    """psycopg_pool.AsyncConnectionPool, opened at first use."""
    pool = _async_connections()
    await pool.open()
    async with pool.connection() as connection:
        answer = await connection.execute("SELECT 1")
        assert await answer.fetchone() == (1,)


@functools.cache
def _engine() -> "sqlalchemy.Engine":
    import sqlalchemy

    return sqlalchemy.create_engine(_url().replace("postgresql://", "postgresql+psycopg://", 1))


@habit
def engine() -> None:
    """A module-level engine of SQLAlchemy."""
    with _engine().connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


class _Scheduler:
    """As APScheduler: a chain of timers that the first user starts."""

    def __init__(self) -> None:
        self.fired = 0
        self.fire()

    def fire(self) -> None:
        self.fired += 1
        timer = threading.Timer(0.1, self.fire)
        timer.daemon = True
        timer.start()


_scheduler = functools.cache(_Scheduler)


@habit
def scheduler() -> None:
    """A scheduler: a chain of threading.Timer that the first user starts."""
    assert _scheduler().fired


@functools.cache
def _client() -> "httpx.AsyncClient":
    import httpx

    return httpx.AsyncClient()


@habit
async def http_client() -> None:
    """A module-level httpx.AsyncClient with keep-alive."""
    answer = await _client().get(os.environ["TENURE_TEST_HTTP"])
    assert answer.text == "hello"


@habit
async def awaited_subprocess() -> None:
    """asyncio.create_subprocess_exec that is awaited."""
    process = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    assert output == b"hi\n"


@habit
def finished_subprocess() -> None:
    """subprocess.run."""
    assert subprocess.run(["echo", "hi"], capture_output=True, check=True).stdout == b"hi\n"


@habit
async def many_to_thread() -> None:
    """Five calls of asyncio.to_thread at the same time."""
    assert await asyncio.gather(*(asyncio.to_thread(_square, 3) for _ in range(5))) == [9] * 5


@habit
async def name_lookup() -> None:
    """loop.getaddrinfo, which uses the loop's executor."""
    assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)


@habit
async def anyio_threads() -> None:
    """anyio.to_thread, with worker threads of its own."""
    import anyio.to_thread

    assert await anyio.to_thread.run_sync(_square, 3) == 9


class _Consumer:
    """A background task that the next caller restarts if it has ended."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[asyncio.Future[str]] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None

    async def consume(self) -> None:
        while True:
            answer = await self.asked.get()
            if not answer.done():
                answer.set_result("done")

    def ask(self) -> "asyncio.Future[str]":
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.consume())
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait(answer)
        return answer


_consumer = functools.cache(_Consumer)


@habit
async def queue_consumer() -> None:
    """A module-level asyncio.Queue with a background consumer, started again when it has ended."""
    for _ in range(3):
        try:
            assert await asyncio.wait_for(_consumer().ask(), 1) == "done"
        except TimeoutError:
            continue
        else:
            return
    raise AssertionError("the consumer does not answer")


class _Watchdog(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="watchdog")
        self.daemon = True
        self.fed = time.monotonic()
        self.start()

    def run(self) -> None:
        while time.monotonic() - self.fed < 600:
            time.sleep(0.1)


_watchdog = functools.cache(_Watchdog)


@habit
def watchdog() -> None:
    """A watchdog thread that everybody feeds."""
    _watchdog().fed = time.monotonic()


class _Connection:
    """A connection with a reader thread, made once."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.answers: queue.Queue[int] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        while data := self.ours.recv(100):
            for one in data:
                self.answers.put(one)


_connection = functools.cache(_Connection)


@habit
def cached_connection() -> None:
    """A connection behind functools.cache, with a reader thread."""
    connection = _connection()  # two that come first at once make two
    connection.theirs.send(b"x")
    assert connection.answers.get(timeout=5) == ord("x")


@functools.cache
def _metrics_server() -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@habit
def metrics_server() -> None:
    """An HTTP server for metrics in a thread."""
    port = _metrics_server().server_port
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
