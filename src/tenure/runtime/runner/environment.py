"""Restore the settings of a process runner, so that each function finds them as the first did.

The process is reused, so a process-wide setting of a job would reach the next. If a setting cannot
be restored, the process accepts no further job.

Not restored are modules that a job imports or changes, a few descriptors that it leaves open, and
environment variables that it sets without os.environ.
"""

import _locale
import _signal  # type: ignore[import-not-found]
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from tenure.runtime.guard.processes import read
from tenure.runtime.guard.system import PORTABLE

_NO_ACCESS = getattr(os, "O_PATH", os.O_RDONLY)
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_SIGNALS = tuple(set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP})
_LIMITS = tuple(
    getattr(resource, f"RLIMIT_{name}")
    for name in ["CPU", "FSIZE", "DATA", "STACK", "CORE", "NPROC", "NOFILE", "MEMLOCK", "AS"]
    if hasattr(resource, f"RLIMIT_{name}")
)
_ATTRIBUTES: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (
        sys,
        (
            "argv", "path", "stdin", "stdout", "stderr",
            "excepthook", "unraisablehook", "displayhook", "breakpointhook",
        ),
    ),
    (os, ("environ", "environb")),
    (threading, ("excepthook", "_trace_hook", "_profile_hook")),
    (warnings, ("filters", "showwarning", "formatwarning")),
    (logging, ("root", "raiseExceptions")),
)  # fmt: skip


class ProcessEnvironment:
    """Remembers the state of the process before its first job, and restores it after each.

    A restore that finds nothing changed takes less than ten microseconds. That is why it compares
    whole groups, and uses _signal: the enum members that signal returns cost more than all the
    rest.
    """

    def __init__(self) -> None:
        self._handlers = [(number, _signal.getsignal(number)) for number in _SIGNALS]
        self._blocked = _signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._folder = os.open(".", _NO_ACCESS | os.O_DIRECTORY | os.O_CLOEXEC)
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._environ = os.environ, os.environb
        self._variables = dict(os.environb)
        self._zone = time.tzname
        self._of_kernel = _values(_KERNEL)
        self._modules = dict(sys.modules)
        self._max_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
        self._attributes = [
            (vars(module), name, vars(module)[name])
            for module, names in _ATTRIBUTES
            for name in names
        ]
        self._lists: list[tuple[Any, list[Any]]] = [
            (values, list(values))
            for values in (
                sys.argv,
                sys.path,
                warnings.filters,
                logging.root.handlers,
                logging.root.filters,
            )
        ]
        self._of_python = _values(_PYTHON)
        self._decimal = _decimal_context()

    def prepare(self) -> None:
        """Set up the context of an attempt that other attempts cannot reach. Call it inside."""
        if self._decimal is not None:
            sys.modules["decimal"].setcontext(self._decimal.copy())

    def restore(self) -> str:
        """Restore everything. Return why this process must not be reused; empty if it may be."""
        try:
            self._restore_signals()
            self._restore_interpreter()
            os.fchdir(self._folder)
            os.umask(self._umask)
            self._restore_variables()
            return self._restore_limits()
        except Exception as problem:  # noqa: BLE001 - a job may have broken anything
            return f"its state cannot be restored: {type(problem).__name__}: {problem}"

    def _restore_signals(self) -> None:
        # Timers first: the default of their signals is death.
        for timer in _TIMERS:
            _signal.setitimer(timer, 0)
        for number, handler in self._handlers:
            if handler is not None and _signal.getsignal(number) is not handler:
                _signal.signal(number, handler)
        _signal.set_wakeup_fd(-1)
        _signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)

    def _restore_interpreter(self) -> None:
        for space, name, value in self._attributes:
            if space.get(name) is not value:
                space[name] = value
        for values, content in self._lists:
            if values != content:
                values[:] = content
                warnings._filters_mutated()  # type: ignore[attr-defined]
        if _values(_PYTHON) != self._of_python:
            for (_, put), value in zip(_PYTHON, self._of_python, strict=True):
                put(value)

    def _restore_variables(self) -> None:
        now = self._environ[1]
        # Its own dictionary: reading all of os.environ takes longer than most jobs.
        if now._data != self._variables:  # type: ignore[attr-defined]
            for name in [name for name in now if name not in self._variables]:
                del now[name]
            for name, value in self._variables.items():
                if now.get(name) != value:
                    now[name] = value
        if time.tzname is not self._zone:
            time.tzset()
            self._zone = time.tzname

    def _restore_limits(self) -> str:
        """Restore what the kernel may refuse to. Return a problem, or nothing."""
        if len(sys.modules) < len(self._modules):
            sys.modules.update(self._modules)
            return "modules were removed from it"
        if read("/proc/self/timers"):
            return "a timer of C code was left"
        if any(getattr(stream, "closed", False) for stream in (sys.stdin, sys.stdout, sys.stderr)):
            return "a standard stream was closed"
        free = os.dup(self._folder)  # the lowest free descriptor
        os.close(free)
        if free > self._max_open:
            return "most of the descriptors that it may have are open"
        if _values(_KERNEL) == self._of_kernel:
            return ""
        for (_, put), value in zip(_KERNEL, self._of_kernel, strict=True):
            with suppress(OSError, ValueError):
                put(value)
        if _values(_KERNEL) == self._of_kernel:
            return ""
        return "its resource limits, its priority or its user cannot be restored"


def _values(settings: "tuple[_Setting, ...]") -> list[Any]:
    return [get() for get, _ in settings]


def _decimal_context() -> Any:
    """Return a copy of the current decimal context; None if decimal is not imported."""
    decimal = sys.modules.get("decimal")
    return decimal.getcontext().copy() if decimal is not None else None


_Setting = tuple[Callable[[], Any], Callable[[Any], Any]]  # its getter and its setter

# The settings of the interpreter that are not attributes of modules.
_PYTHON: tuple[_Setting, ...] = (
    (gc.isenabled, lambda enabled: (gc.enable if enabled else gc.disable)()),
    (gc.get_threshold, lambda threshold: gc.set_threshold(*threshold)),
    (gc.get_debug, gc.set_debug),
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.getswitchinterval, sys.setswitchinterval),
    (threading.stack_size, threading.stack_size),
    (socket.getdefaulttimeout, socket.setdefaulttimeout),
    (lambda: logging.root.level, lambda level: logging.root.setLevel(level)),
    (lambda: logging.root.manager.disable, logging.disable),
    (partial(_locale.setlocale, _locale.LC_ALL), partial(_locale.setlocale, _locale.LC_ALL)),
)
_OF_LINUX: tuple[_Setting, ...] = (
    ()
    if PORTABLE
    else (
        # A runner can only begin under a policy that has no priority of its own.
        (
            partial(os.sched_getscheduler, 0),
            lambda policy: os.sched_setscheduler(0, policy, os.sched_param(0)),
        ),
        (partial(os.sched_getaffinity, 0), partial(os.sched_setaffinity, 0)),
        (os.getresuid, lambda users: os.setresuid(*users)),
    )
)
# The settings that the kernel keeps for this process, or for its main thread.
_KERNEL: tuple[_Setting, ...] = (
    *_OF_LINUX,
    (partial(os.getpriority, os.PRIO_PROCESS, 0), partial(os.setpriority, os.PRIO_PROCESS, 0)),
    (
        lambda: [*map(resource.getrlimit, _LIMITS)],
        lambda limits: [*map(resource.setrlimit, _LIMITS, limits)],
    ),
)
