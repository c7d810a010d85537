"""Functions that harm the process they run in, or leave something behind in it."""

import ctypes
import decimal
import gc
import io
import itertools
import locale
import logging
import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, NoReturn

from tenure import Context, Tenure
from tenure.runtime.guard.processes import children_of, is_alive
from tests.runtime.half_dead import END_THIS_THREAD, WRITER

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
NEVER = 3600.0  # seconds; no test waits for their end
if "TENURE_TEST_FOLDER" in os.environ:  # in a runner: descriptors should run out soon
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test reads."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def started(ctx: Context) -> None:
    mark(f"runner-{ctx.job.id}", str(os.getpid()))
    mark(f"started-{ctx.job.id}", str(ctx.attempt))


@app.task(retry=0)
def quick() -> int:
    return os.getpid()


# Processes whose main thread has ended.


@app.task(retry=0)
def starts_a_writer(ctx: Context, how: str, ends: bool) -> None:
    """Start a child or daemon that keeps writing after its main thread has ended."""
    place = FOLDER / f"lines-{ctx.job.id}"
    command = [sys.executable, "-ISc", WRITER, str(place)]
    if how == "child":
        subprocess.Popen(command)
    elif os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, command)
        os._exit(0)
    while not (place.exists() and place.stat().st_size):
        time.sleep(0.005)
    started(ctx)
    if not ends:
        time.sleep(NEVER)


# Orphans.


def daemonise(seconds: float) -> None:
    """Start a process without a parent that ends after the given number of seconds."""
    between = os.fork()
    if between == 0:
        if os.fork() == 0:
            time.sleep(seconds)
        os._exit(0)
    os.waitpid(between, 0)


@app.task(retry=0)
def leaves_orphans(ctx: Context, count: int, ends: bool) -> int:
    """Start orphans, which all end before this function does."""
    for _ in range(count):
        daemonise(0)
    while any(is_alive(pid) for pid in children_of(os.getpid())):
        time.sleep(0.005)
    started(ctx)
    if not ends:
        time.sleep(NEVER)
    return os.getpid()


@app.task(retry=0)
def waits_late_for_its_children(each: int) -> list[list[int]]:
    """Start processes in every way, and orphans; wait long after all of them have ended.

    Return the exit codes, one list for each way.
    """
    daemonised = threading.Thread(target=daemonise_quietly, args=(50,))
    daemonised.start()
    exits = ["/bin/sh", "-c", "exit 7"]
    by_popen = [subprocess.Popen(exits) for _ in range(each)]
    by_spawn = [os.posix_spawn(exits[0], exits, os.environ) for _ in range(each)]
    by_fork = [fork_and_exit(7) for _ in range(each)]
    context = multiprocessing.get_context("fork")
    by_multiprocessing = [context.Process(target=os._exit, args=(7,)) for _ in range(each)]
    for process in by_multiprocessing:
        process.start()
    daemonised.join()
    while any(is_alive(pid) for pid in children_of(os.getpid())):
        time.sleep(0.005)
    time.sleep(2.5)  # longer than the guard leaves zombies alone
    for process in by_multiprocessing:
        process.join()
    return [
        [process.wait() for process in by_popen],
        [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in by_spawn],
        [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in by_fork],
        [process.exitcode or 0 for process in by_multiprocessing],
    ]


def fork_and_exit(code: int) -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(code)
    return pid


def daemonise_quietly(count: int) -> None:
    for _ in range(count):
        subprocess.run(["/bin/sh", "-c", "sleep 0.1 &"], check=True)


@app.task(retry=0)
def waits_at_once_for_its_children(count: int) -> list[int]:
    """Start processes from several threads, each of which waits for its own."""
    daemonise_quietly(10)
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda _: subprocess.call(["/bin/sh", "-c", "exit 7"]), range(count)))


# Attempts that are hard to wrap up.


@app.task(retry=0)
def uses_up_its_descriptors(ctx: Context) -> str:
    """Leave no descriptor for removing the temporary directory or looking for processes."""
    started(ctx)
    ctx.temp_dir()
    with suppress(OSError):
        while True:
            os.dup(0)
    return "done"


class Unshowable(Exception):
    """An exception whose ``__str__`` misbehaves in the way its argument names."""

    def __str__(self) -> str:
        match self.args[0]:
            case "exits":
                raise SystemExit(3)
            case "interrupts":
                raise KeyboardInterrupt
            case "hangs":
                time.sleep(NEVER)
            case "is no plain text":
                return Text("hello")
            case "is large":
                return "x" * 50_000_000
        return "nothing"

    __repr__ = __str__


class Text(str):
    """A string that raises when it is used."""

    __slots__ = ()

    def replace(self, *_: object) -> str:
        raise SystemExit(4)

    encode = __format__ = replace  # type: ignore[assignment]


class Masked(Exception):
    """An exception that raises when its class, traceback or cause is read."""

    @property
    def _raise(self) -> NoReturn:
        raise SystemExit(5)

    __class__ = __traceback__ = __cause__ = __context__ = __notes__ = _raise


class Nameless(type):
    def __getattribute__(cls, name: str) -> NoReturn:
        raise SystemExit(6)


@app.task(retry=0)
def raises_what_cannot_be_shown(how: str) -> None:
    match how:
        case "masked":
            raise Masked("hello")
        case "nameless":
            raise Nameless("Unknown", (Exception,), {})("hello")
        case "below":
            raise ValueError("above") from Unshowable("exits")
        case _:
            raise Unshowable(how)


class Nowhere(tzinfo):
    """A time zone that raises when its offset is read."""

    def utcoffset(self, _: datetime | None) -> NoReturn:
        raise SystemExit(7)

    dst = tzname = utcoffset


@app.task(retry=0)
def returns_what_cannot_be_written() -> datetime:
    return datetime(2026, 1, 1, tzinfo=Nowhere())


@app.task(retry=0)
def closes_all_descriptors(ctx: Context, sleeps: bool) -> str:
    started(ctx)
    os.closerange(3, 256)
    if sleeps:
        time.sleep(NEVER)
    return "done"


@app.task(retry=0)
def closes_all_in_its_hook(ctx: Context) -> None:
    raise ValueError("no good")


@closes_all_in_its_hook.on_failure
def close_all(ctx: Context, error: BaseException) -> None:
    os.closerange(3, 256)


@app.task(retry=0)
def has_a_hook_that_cannot_be_shown(ctx: Context) -> None:
    raise ValueError("no good")


@has_a_hook_that_cannot_be_shown.on_failure
def fail_unshown(ctx: Context, error: BaseException) -> None:
    raise Unshowable("exits")


@app.task(retry=0)
def ends_its_main_thread(ctx: Context) -> None:
    started(ctx)
    exec(END_THIS_THREAD)


# Signals that belong to the runner.


@app.task(retry=0)
def takes_the_interrupt(ctx: Context, how: str, hogs: bool) -> None:
    """Replace the handler of the signal that interrupts functions, then run forever."""
    handlers: dict[str, Any] = {
        "default": signal.SIG_DFL,
        "ignore": signal.SIG_IGN,
        "own": lambda *_: None,
    }
    signal.signal(signal.SIGUSR1, handlers[how])
    started(ctx)
    if hogs:
        deque(itertools.repeat(0), maxlen=0)
    time.sleep(NEVER)


# A process that is reused.


def look() -> dict[str, Any]:
    """Return the process state that an earlier job may have changed."""
    return {
        "pid": os.getpid(),
        "limits": {
            name: list(resource.getrlimit(getattr(resource, name)))
            for name in ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_AS")
        },
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": sorted(os.sched_getaffinity(0)),
        "policy": os.sched_getscheduler(0),
        "path": list(sys.path),
        "argv": list(sys.argv),
        "streams": [repr(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "hooks": [repr(hook) for hook in (sys.excepthook, threading.excepthook)],
        "tracing": [sys.gettrace() is None, sys.getprofile() is None],
        "gc": [gc.isenabled(), gc.get_threshold()],
        "zone": time.tzname,
        "recursion": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "socket timeout": socket.getdefaulttimeout(),
        "warnings": [repr(one) for one in warnings.filters],
        "log": [logging.root.level, [repr(one) for one in logging.root.handlers]],
        "locale": locale.setlocale(locale.LC_ALL),
        "precision": decimal.getcontext().prec,
        "environment": [type(os.environ).__name__, os.environ.get("TENURE_TEST_LEFT")],
        "folder": str(Path.cwd()),
        "wakeup": signal.set_wakeup_fd(-1),
    }


@app.task(retry=0)
def looks_around() -> dict[str, Any]:
    return look()


@app.task(retry=0)
def changes_everything() -> dict[str, Any]:
    before = look()
    for name, most in (("RLIMIT_NOFILE", 400), ("RLIMIT_CORE", 0), ("RLIMIT_AS", 1 << 40)):
        hard = resource.getrlimit(getattr(resource, name))[1]
        resource.setrlimit(getattr(resource, name), (most, hard))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.path.insert(0, "/nowhere")
    sys.path = [*sys.path, "/elsewhere"]
    sys.argv = ["changed"]
    sys.stdout = sys.stderr = io.StringIO()
    sys.stdin = io.StringIO()
    sys.excepthook = lambda *_: None
    threading.excepthook = lambda *_: None
    threading.settrace(lambda *_: None)
    gc.disable()
    gc.set_threshold(1, 2, 3)
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    sys.setrecursionlimit(5000)
    sys.setswitchinterval(0.5)
    socket.setdefaulttimeout(3)
    warnings.simplefilter("error")
    logging.root.setLevel(logging.CRITICAL)
    logging.root.addHandler(logging.NullHandler())
    locale.setlocale(locale.LC_ALL, "C.UTF-8" if locale.setlocale(locale.LC_ALL) == "C" else "C")
    decimal.getcontext().prec = 3
    vars(os)["environ"] = {"TENURE_TEST_LEFT": "1"}
    os.chdir("/")
    _, sender = os.pipe()
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender)
    sys.setprofile(lambda *_: None)
    return before


def give_up_privileges() -> None:
    """Drop all capabilities, on which the rights of root depend, but keep the user."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert libc.capset(header, (ctypes.c_uint32 * 6)()) == 0


@app.task(retry=0)
def changes_for_ever(what: str) -> int:
    """Change what cannot be restored without privileges."""
    match what:
        case "limit":
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (1, 1))
            give_up_privileges()
        case "priority":
            os.nice(5)
            give_up_privileges()
        case "stream":
            sys.stdout.close()
        case "zombies":
            for _ in range(60):
                fork_and_exit(0)
            time.sleep(1)
    return os.getpid()
