"""What every function in a process runner finds as the first one did.

The process is used again, so what one job sets for the whole process would reach the next.
"""

import _signal  # type: ignore[import-not-found]
import os
import signal

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_SIGNALS = (
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGCHLD,
    signal.SIGPIPE,
)


class Surroundings:
    """Timers, handlers of signals, the working directory, the umask and the environment.

    Signals go by _signal: the names that signal makes of numbers cost more than all the rest.
    """

    def __init__(self) -> None:
        self._handlers = [(number, _signal.getsignal(number)) for number in _SIGNALS]
        self._blocked = _signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._variables = dict(os.environb)

    def restore(self) -> None:
        # Timers first: the default of their signals is death.
        for timer in _TIMERS:
            _signal.setitimer(timer, 0)
        for number, handler in self._handlers:
            if handler is not None and _signal.getsignal(number) is not handler:
                _signal.signal(number, handler)
        _signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
        os.fchdir(self._folder)
        os.umask(self._umask)
        self._restore_variables()

    def _restore_variables(self) -> None:
        now = os.environb
        # Its own dictionary: to read all of it the other way takes longer than most jobs.
        if now._data == self._variables:  # type: ignore[attr-defined]
            return
        for name in [name for name in now if name not in self._variables]:
            del now[name]
        for name, value in self._variables.items():
            if now.get(name) != value:
                now[name] = value
