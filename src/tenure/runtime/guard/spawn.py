"""How a runner is born: a fork of the guard that makes itself clean and becomes the program."""

import errno
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence

from .cgroups import ControlGroup
from .processes import die_with_parent, inherit_orphans

FIRST_FD = 3  # the descriptors handed over are 3, 4, ... in the runner
_MOST_FDS = 1 << 20


def spawn_runner(
    argv: Sequence[str],
    env: Mapping[str, str],
    stdio: Sequence[int],
    fds: Sequence[int],
    group: ControlGroup | None,
) -> tuple[int, int]:
    """Start a program; give its pid, and a descriptor that ends when it is under way.

    If the program cannot be started, its errno can be read there before the end.
    """
    told, tell = os.pipe()
    guard = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(told)
        os.close(tell)
        raise
    if pid == 0:
        try:
            _leave_the_guard(guard)
            if group is not None:
                group.enter()
            # Kept above all numbers that will be taken.
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
    return pid, told


def _leave_the_guard(guard: int) -> None:
    os.setsid()
    die_with_parent()
    if os.getppid() != guard:
        os._exit(127)
    # So what it lets go of stays its own, for as long as it lives.
    inherit_orphans()
    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _arrange(stdio: Sequence[int], fds: Sequence[int], tell: int) -> int:
    """Put every descriptor at its number and close all others; give the new number of `tell`."""
    end = FIRST_FD + len(fds)
    # First out of the way of each other, then down.
    wanted = [os.open(os.devnull, os.O_RDONLY), *stdio, *fds]
    aside = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, end + 1) for fd in wanted]
    tell = os.dup2(tell, end, inheritable=False)
    for number, fd in enumerate(aside):
        os.dup2(fd, number)
    os.closerange(end + 1, _MOST_FDS)
    return tell
