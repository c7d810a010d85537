"""Code that leaves threads, by every way to start one."""

import _thread
import asyncio
import contextvars
import ctypes
import faulthandler
import multiprocessing.pool
import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.apps.hostile.beats import AT_MOST, EVERY, Here
from tests.apps.hostile.kinds import IN_PYTHON, KEPT, kind

_LIBC = ctypes.CDLL(None, use_errno=True)


@kind("threads", IN_PYTHON, named=True)
def thread(here: Here) -> None:
    """threading.Thread."""
    threading.Thread(target=here.beat_for_ever).start()


@kind("threads", IN_PYTHON, named=True)
def daemon_thread(here: Here) -> None:
    """threading.Thread as a daemon."""
    threading.Thread(target=here.beat_for_ever, daemon=True).start()


@kind("threads", IN_PYTHON, named=True)
def low_level_thread(here: Here) -> None:
    """_thread.start_new_thread."""
    _thread.start_new_thread(here.beat_for_ever, ())


@kind("threads", IN_PYTHON)
def thread_by_thread(here: Here) -> None:
    """A thread that was started by a thread, which has ended."""
    starter = threading.Thread(target=lambda: thread(here))
    starter.start()
    starter.join()


@kind("threads", IN_PYTHON)
def low_level_thread_by_thread(here: Here) -> None:
    """_thread.start_new_thread in a thread that has an empty context and has ended."""
    starter = threading.Thread(target=lambda: low_level_thread(here))
    contextvars.Context().run(starter.start)
    starter.join()


@kind("threads", IN_PYTHON)
def thread_without_context(here: Here) -> None:
    """A thread that was started in an empty context."""
    contextvars.Context().run(lambda: thread(here))


@kind("threads", IN_PYTHON)
def thread_relay(here: Here) -> None:
    """Threads that each start their successor and end."""
    until = time.monotonic() + AT_MOST

    def run() -> None:
        here.beat()
        time.sleep(EVERY)
        if time.monotonic() < until:
            threading.Thread(target=run).start()

    threading.Thread(target=run).start()


@kind("threads", IN_PYTHON)
def timer_chain(here: Here) -> None:
    """threading.Timer, each of which starts the next."""
    until = time.monotonic() + AT_MOST

    def fire() -> None:
        here.beat()
        if time.monotonic() < until:
            threading.Timer(EVERY, fire).start()

    fire()


@kind("threads", IN_PYTHON, named=True)
def pool_item(here: Here) -> None:
    """A work item of a ThreadPoolExecutor that never ends."""
    pool = ThreadPoolExecutor(1)
    KEPT.append(pool)
    pool.submit(here.beat_for_ever)


@kind("threads", IN_PYTHON)
def pool_items_in_line(here: Here) -> None:
    """Short work items of a ThreadPoolExecutor, queued by the thousand."""
    pool = ThreadPoolExecutor(2)
    KEPT.append(pool)

    def item() -> None:
        here.beat()
        time.sleep(EVERY)

    for _ in range(3000):
        pool.submit(item)


@kind("threads", IN_PYTHON)
def pool_relay(here: Here) -> None:
    """A work item of a ThreadPoolExecutor whose done-callback submits the next."""
    pool = ThreadPoolExecutor(1)
    KEPT.append(pool)
    until = time.monotonic() + AT_MOST

    def item() -> None:
        here.beat()
        time.sleep(EVERY)

    def again(_done: Future[None]) -> None:
        if time.monotonic() < until:
            pool.submit(item).add_done_callback(again)

    pool.submit(item).add_done_callback(again)


@kind("threads", IN_PYTHON)
def pool_initializer(here: Here) -> None:
    """The initializer of a ThreadPoolExecutor, which never ends."""
    pool = ThreadPoolExecutor(1, initializer=here.beat_for_ever)
    KEPT.append(pool)
    pool.submit(time.time)


@kind("threads", IN_PYTHON, named=True)
def multiprocessing_thread_pool(here: Here) -> None:
    """A work item of a multiprocessing.pool.ThreadPool that never ends."""
    pool = multiprocessing.pool.ThreadPool(1)
    KEPT.append(pool)
    pool.apply_async(here.beat_for_ever)


@kind("threads", ("async",), named=True)
async def to_thread(here: Here) -> None:
    """asyncio.to_thread with work that never ends, in a task nobody awaits."""
    KEPT.append(asyncio.create_task(asyncio.to_thread(here.beat_for_ever)))
    await asyncio.sleep(0)


@kind("threads", ("async",), named=True)
async def default_executor(here: Here) -> None:
    """run_in_executor(None) with work that never ends."""
    KEPT.append(asyncio.get_running_loop().run_in_executor(None, here.beat_for_ever))


@kind("threads", ("async",))
async def default_executor_without_context(here: Here) -> None:
    """run_in_executor(None) in an empty context."""
    loop = asyncio.get_running_loop()
    run: Callable[..., Any] = contextvars.Context().run
    KEPT.append(run(loop.run_in_executor, None, here.beat_for_ever))


@kind("threads", ("async",), named=True)
async def own_executor(here: Here) -> None:
    """run_in_executor with an executor of its own."""
    pool = ThreadPoolExecutor(1)
    KEPT.extend([pool, asyncio.get_running_loop().run_in_executor(pool, here.beat_for_ever)])


@kind("threads", IN_PYTHON, named=True)
def nested_loop(here: Here) -> None:
    """A thread with an event loop of its own."""

    async def run() -> None:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            here.beat()
            await asyncio.sleep(EVERY)

    threading.Thread(target=lambda: asyncio.run(run())).start()


@kind("threads", IN_PYTHON)
def thread_of_processes(here: Here) -> None:
    """A thread that starts a process again and again."""

    def run() -> None:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            here.beat()
            subprocess.run(["true"], env={}, start_new_session=True, check=False)
            time.sleep(EVERY)

    threading.Thread(target=run, daemon=True).start()


@kind("threads", IN_PYTHON, named=True)
def stubborn_thread(here: Here) -> None:
    """A thread that survives every exception that is raised in it."""

    def run() -> None:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            try:
                here.beat()
                time.sleep(EVERY)
            except BaseException:  # noqa: BLE001 - that is the kind
                continue

    threading.Thread(target=run, daemon=True).start()


def _new_threads(start: Callable[[], None], here: Here) -> None:
    """Record the threads of this process that appear meanwhile."""
    before = set(os.listdir("/proc/self/task"))  # noqa: PTH208
    start()
    for new in set(os.listdir("/proc/self/task")) - before:  # noqa: PTH208
        here.name_thread(int(new))


@kind("threads", IN_PYTHON, beats=False)
def c_thread(here: Here) -> None:
    """A thread of C code that Python does not know: pthread_create of pause."""
    thread = ctypes.c_ulong()
    pause = ctypes.cast(_LIBC.pause, ctypes.c_void_p)

    def start() -> None:
        assert _LIBC.pthread_create(ctypes.byref(thread), None, pause, None) == 0

    _new_threads(start, here)


_ROUTINE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


@kind("threads", IN_PYTHON)
def c_thread_with_python(here: Here) -> None:
    """A thread of pthread_create that runs Python code."""

    def run(_argument: object) -> None:
        here.beat_for_ever()

    routine = _ROUTINE(run)
    KEPT.append(routine)
    thread = ctypes.c_ulong()
    assert _LIBC.pthread_create(ctypes.byref(thread), None, routine, None) == 0


@kind("threads", IN_PYTHON, beats=False)
def sleeping_thread(here: Here) -> None:
    """A thread that blocks in C code and never wakes."""

    def run() -> None:
        here.name_thread(threading.get_native_id())
        time.sleep(AT_MOST)

    threading.Thread(target=run, daemon=True).start()


@kind("threads", IN_PYTHON, beats=False)
def traceback_watchdog(here: Here) -> None:
    """faulthandler.dump_traceback_later, which writes from a thread of C code."""
    file = Path(here.beats).open("a")  # noqa: SIM115
    KEPT.append(file)
    _new_threads(lambda: faulthandler.dump_traceback_later(EVERY, repeat=True, file=file), here)
