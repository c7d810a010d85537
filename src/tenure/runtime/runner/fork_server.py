"""The fork server: a process that has imported the app and forks runners, which share its memory.

A runner is forked twice. The process between the two tells the guard the new pid, waits until the
guard knows it, and ends: so the runner becomes a child of the guard like one that was spawned, and
does not depend on the fork server. What a spawned runner gets from the guard before its program
starts, a forked one does for itself.
"""

import ctypes
import errno
import gc
import os
import posix
import select
import socket
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from tenure.runtime.guard import wire
from tenure.runtime.guard.cgroups import ControlGroup
from tenure.runtime.guard.processes import (
    FORKED,
    RUNNER,
    die_with_parent,
    environment,
    inherit_orphans,
    leave_orphans,
)
from tenure.runtime.runner import forks
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.processes import address_of_variable

_fork = posix.fork  # os.fork notes the processes of jobs


class ForkServer:
    """Make it before the app is imported: the import may change the environment."""

    def __init__(self, requests: int, keeper: int) -> None:
        self._requests = requests
        self._keeper = keeper  # the descriptor of the wire to the keeper
        self._mark = os.environ.get(RUNNER, "")
        self._address = address_of_variable(RUNNER, self._mark)

    @property
    def can_mark(self) -> bool:
        """True if forked runners can carry a mark of their own that the kernel shows."""
        return self._address is not None and environment(os.getpid()).get(RUNNER) == self._mark

    def serve(self, ownership: Ownership) -> bool:
        """Fork runners; return True in each of them, and False when no more are wanted."""
        # What every kind of runner needs, once for all.
        import tenure.runtime.runner.loop
        import tenure.runtime.runner.process  # noqa: F401

        gc.collect()
        with suppress(AttributeError):  # not every C library has it
            ctypes.CDLL(None).malloc_trim(0)  # what the import freed, or every fork would count it
        gc.freeze()  # the collector would touch, and so copy, every page of what is shared
        leave_orphans()  # to the guard: so a runner gets there
        requests = socket.socket(fileno=self._requests)
        waiting = select.poll()
        waiting.register(self._keeper, select.POLLIN)
        waiting.register(requests, select.POLLIN)
        while self._keeper not in dict(waiting.poll()):  # it says nothing but that this is the end
            request, fds = wire.receive(requests)
            if request is None:
                break
            if not request["incomplete"] and self._fork(request, fds):
                requests.close()
                ownership.begin()
                return True
            for fd in fds:
                os.close(fd)
        return False

    def _fork(self, request: wire.Message, fds: list[int]) -> bool:
        """Fork a runner; return whether this process is the runner."""
        _flush()
        forks.makes_runner = True
        try:
            between = _fork()
        except OSError as error:
            os.write(fds[0], str(error.errno).encode())
            return False
        finally:
            forks.makes_runner = False
        if between:
            os.waitpid(between, 0)
            return False
        try:
            self._fork_again(request, fds)
        except BaseException as error:  # noqa: BLE001 - a process that is neither must end
            _give_up(fds[0], error)
        return True

    def _fork_again(self, request: wire.Message, fds: list[int]) -> None:
        """Return in the runner alone, when it is a child of the guard and has what it needs."""
        tell, *given = fds
        die_with_parent()  # not inherited
        between = os.pidfd_open(os.getpid())
        forks.makes_runner = True
        if pid := _fork():
            os.write(tell, b"%b%d" % (FORKED, pid))
            os.read(tell, 1)
            os._exit(0)
        forks.makes_runner = False
        _wait_for_end(between)
        os.close(between)
        os.setsid()
        die_with_parent()
        if os.getppid() != request["guard"]:
            os._exit(127)
        inherit_orphans()
        if request["group"] is not None:
            ControlGroup(request["group"]).enter()
        for number, fd in enumerate(given, 1):  # stdout, stderr, and 3 to 6 as always
            os.dup2(fd, number, inheritable=number < 3)
            os.close(fd)
        self._carry(request["mark"])
        _renew_identity()
        os.close(tell)

    def _carry(self, mark: str) -> None:
        """Write the mark where the kernel shows it and where programs find it."""
        if self._address is None or len(mark) != len(self._mark):
            raise OSError(errno.EINVAL, "this mark has no room")
        ctypes.memmove(self._address, mark.encode(), len(mark))
        os.environ[RUNNER] = mark


def _wait_for_end(process: int) -> None:
    """Wait until a process, by its pidfd, has ended and its children have another parent."""
    ended = select.poll()
    ended.register(process, select.POLLIN)
    ended.poll()


def _renew_identity() -> None:
    """Renew what must differ between processes; Python itself does so for `random`."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()
    thread = threading.main_thread()
    if hasattr(thread, "_set_native_id"):  # which not every Python renews
        thread._set_native_id()


def _flush() -> None:
    """Write what is buffered, or every runner would write it again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def _give_up(tell: int, error: BaseException) -> NoReturn:
    with suppress(OSError):
        code = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
        os.write(tell, str(code).encode())
    os._exit(127)
