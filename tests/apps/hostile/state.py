"""Code that changes its whole process, and a report of all that it could have changed."""

import decimal
import gc
import locale
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from tenure import Context, Tenure
from tests.apps.hostile.beats import Here
from tests.apps.hostile.kinds import KINDS, kind

app = Tenure()

_LIMITS = [name for name in dir(resource) if name.startswith("RLIMIT_")]
_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


@app.task(retry=0)
def changes(ctx: Context, kind: str, ready: str, stays: bool) -> int:
    KINDS[kind].code(Here("", 0))
    Path(ready).touch()
    while stays:
        time.sleep(3600)
    return os.getpid()


@app.task(retry=2)
def report(ctx: Context) -> dict[str, Any]:
    """Return the state of a process as the next job finds it."""
    mask = os.umask(0)
    os.umask(mask)
    return {
        "pid": os.getpid(),
        **{name: resource.getrlimit(getattr(resource, name)) for name in _LIMITS},
        "nice": os.nice(0),
        "scheduler": os.sched_getscheduler(0),
        "cpus": sorted(os.sched_getaffinity(0)),
        "folder": os.getcwd(),  # noqa: PTH109
        "mask of files": mask,
        "environment": sorted(name for name in os.environ if not name.startswith("TENURE_")),
        "time zone": [time.tzname, time.localtime(0).tm_hour],
        "path": list(sys.path),
        "output": [type(sys.stdout).__name__, type(sys.stderr).__name__],
        "input": type(sys.stdin).__name__,
        "arguments": list(sys.argv),
        **{f"signal {int(n)}": _name_of(signal.getsignal(n)) for n in _SIGNALS},
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
        "timers": [signal.getitimer(timer) for timer in (0, 1, 2)],
        "garbage": [gc.isenabled(), gc.get_threshold(), len(gc.callbacks), gc.get_debug()],
        "recursion": sys.getrecursionlimit(),
        "switching": sys.getswitchinterval(),
        "tracing": [sys.gettrace() is None, sys.getprofile() is None],
        "tracing of threads": [threading.gettrace() is None, threading.getprofile() is None],
        "exceptions": [_name_of(sys.excepthook), _name_of(threading.excepthook)],
        "stack of threads": threading.stack_size(),
        "locale": locale.setlocale(locale.LC_ALL),
        "timeout of sockets": socket.getdefaulttimeout(),
        "warnings": len(warnings.filters),
        "precision": decimal.getcontext().prec,
        "logging": [logging.root.level, len(logging.root.handlers), logging.root.manager.disable],
        "bytecode": sys.dont_write_bytecode,
    }


def _name_of(handler: Any) -> str:
    return str(getattr(handler, "__qualname__", handler))


def _in_process(name: str, description: str, change: Any) -> None:
    """Add a change of the process to the catalogue."""

    def code(here: Here) -> None:
        change()

    code.__name__, code.__doc__ = name, description
    kind("state", ("process",), beats=False)(code)


def _lower(limit: int) -> None:
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (64, hard))


def _set_time_zone() -> None:
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()


def _set_hooks() -> None:
    sys.excepthook = lambda *_: None
    threading.excepthook = lambda *_: None


_in_process("soft_limit", "A soft limit of open files lowered.", lambda: _lower(7))
_in_process(
    "hard_limit",
    "A hard limit of open files lowered, which only root could raise again.",
    lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)),
)
_in_process(
    "core_limit",
    "The limit of core files changed.",
    lambda: resource.setrlimit(resource.RLIMIT_CORE, (4096, 4096)),
)
_in_process("niceness", "os.nice.", lambda: os.nice(5))
_in_process("one_cpu", "os.sched_setaffinity.", lambda: os.sched_setaffinity(0, {0}))
_in_process("folder", "os.chdir.", lambda: os.chdir("/"))
_in_process("file_mask", "os.umask.", lambda: os.umask(0o777))
_in_process("environment", "Variables of the environment.", lambda: os.environ.clear())
_in_process("time_zone", "TZ with tzset.", _set_time_zone)
_in_process("module_path", "sys.path.", lambda: sys.path.insert(0, "/nowhere"))
_in_process(
    "module_path_replaced", "sys.path replaced.", lambda: setattr(sys, "path", ["/nowhere"])
)
_in_process("output", "sys.stdout and sys.stderr.", lambda: setattr(sys, "stdout", None))
_in_process("arguments", "sys.argv.", lambda: sys.argv.append("more"))
_in_process(
    "signal_handlers",
    "Handlers of signals.",
    lambda: [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGTERM, signal.SIGWINCH)],
)
_in_process(
    "signal_mask",
    "Blocked signals.",
    lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM}),
)
_in_process("timer", "An interval timer.", lambda: signal.setitimer(signal.ITIMER_VIRTUAL, 100))
_in_process("no_garbage_collection", "gc.disable.", gc.disable)
_in_process("garbage_threshold", "gc.set_threshold.", lambda: gc.set_threshold(1, 1, 1))
_in_process("recursion_limit", "sys.setrecursionlimit.", lambda: sys.setrecursionlimit(5000))
_in_process("switch_interval", "sys.setswitchinterval.", lambda: sys.setswitchinterval(1))
_in_process("traced", "sys.settrace and threading.settrace.", lambda: _trace())
_in_process("exception_hooks", "sys.excepthook and threading.excepthook.", _set_hooks)
_in_process("stack_size", "threading.stack_size.", lambda: threading.stack_size(1 << 20))
_in_process("socket_timeout", "socket.setdefaulttimeout.", lambda: socket.setdefaulttimeout(1))
_in_process("decimal_precision", "The context of decimal.", lambda: _set_precision())
_in_process("logging_level", "logging.disable.", lambda: logging.disable(logging.CRITICAL))
_in_process("locale", "locale.setlocale.", lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"))


def _trace() -> None:
    sys.settrace(lambda *_: None)
    threading.settrace(lambda *_: None)


def _set_precision() -> None:
    decimal.getcontext().prec = 3
