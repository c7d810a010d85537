"""Start a runner: fork the guard and execute the program, or ask a fork server for it."""

import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence

from . import wire
from .cgroups import ControlGroup
from .processes import die_with_parent, inherit_orphans
from .system import socket_pair
from .tree import Tree

FIRST_FD = 3  # the descriptors handed over are 3, 4, ... in the runner
_MAX_FDS = 1 << 20


class RunnerStart:
    """A runner that is being started, for the request of this number."""

    def __init__(self, number: int, mark: str, group: ControlGroup | None) -> None:
        self.number = number
        self.mark = mark
        self.group = group
        self.tree: Tree | None = None  # while its pid is not known


def fork_runner(server: Tree | None, start: RunnerStart, fds: Sequence[int]) -> int:
    """Ask a fork server for a runner; return a descriptor that closes when the runner runs.

    First a pid is written to it, which must be answered: until then the new process is not a child
    of the guard. If the runner cannot be started, the errno is written.
    """
    if server is None or server.forks is None or server.is_doomed:
        raise OSError(errno.ECHILD, os.strerror(errno.ECHILD))
    started, tell = socket_pair()
    with started, tell:
        folder = None if start.group is None else start.group.folder
        request = {"mark": start.mark, "group": folder, "guard": os.getpid()}
        wire.send(server.forks, request, [tell.fileno(), *fds])
        return started.detach()


def spawn_runner(
    start: RunnerStart,
    argv: Sequence[str],
    env: Mapping[str, str],
    stdio: Sequence[int],
    fds: Sequence[int],
    *,
    serves_forks: bool = False,
) -> int:
    """Start a program; return a descriptor that closes when it runs.

    If the program cannot be started, the errno is written to the descriptor first. A fork server
    gets one more descriptor, for its requests.
    """
    if not serves_forks:
        start.tree, started = _spawn(start, argv, env, stdio, fds)
        return started
    here, there = socket_pair()
    here.setblocking(False)
    try:
        start.tree, started = _spawn(start, argv, env, stdio, [*fds, there.fileno()])
    except OSError:
        here.close()
        raise
    finally:
        there.close()
    start.tree.forks = here
    return started


def _spawn(
    start: RunnerStart,
    argv: Sequence[str],
    env: Mapping[str, str],
    stdio: Sequence[int],
    fds: Sequence[int],
) -> tuple[Tree, int]:
    group = start.group
    started, tell = os.pipe()
    guard = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(started)
        os.close(tell)
        raise
    if pid == 0:
        try:
            _leave_the_guard(guard)
            if group is not None:
                group.enter()
            # Above all descriptors that will be assigned.
            tell = fcntl.fcntl(tell, fcntl.F_DUPFD_CLOEXEC, FIRST_FD + len(fds))
            tell = _arrange(stdio, fds, tell)
            os.execvpe(argv[0], list(argv), env)  # noqa: S606
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        except (ValueError, TypeError, IndexError):
            os.write(tell, str(errno.EINVAL).encode())
        finally:
            os._exit(127)
    os.close(tell)
    return Tree(pid, start.mark, group), started


def _leave_the_guard(guard: int) -> None:
    os.setsid()
    die_with_parent()
    if os.getppid() != guard:
        os._exit(127)
    # So that its orphans stay below it for as long as it lives.
    inherit_orphans()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _arrange(stdio: Sequence[int], fds: Sequence[int], tell: int) -> int:
    """Put every descriptor at its number and close all others; return the new number of `tell`."""
    end = FIRST_FD + len(fds)
    # First above all target numbers, then to their places.
    wanted = [os.open(os.devnull, os.O_RDONLY), *stdio, *fds]
    aside = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, end + 1) for fd in wanted]
    tell = os.dup2(tell, end, inheritable=False)
    for number, fd in enumerate(aside):
        os.dup2(fd, number)
    os.closerange(end + 1, _MAX_FDS)
    return tell
