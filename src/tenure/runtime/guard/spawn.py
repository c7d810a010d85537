"""Start a runner: fork the guard, reset the child, and execute the program."""

import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence

from .cgroups import ControlGroup
from .processes import die_with_parent, inherit_orphans

FIRST_FD = 3  # the descriptors handed over are 3, 4, ... in the runner
_MAX_FDS = 1 << 20


def spawn_runner(
    argv: Sequence[str],
    env: Mapping[str, str],
    stdio: Sequence[int],
    fds: Sequence[int],
    group: ControlGroup | None,
) -> tuple[int, int]:
    """Start a program; return its pid, and a descriptor that closes when it runs.

    If the program cannot be started, the errno is written to the descriptor first.
    """
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
    return pid, started


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
