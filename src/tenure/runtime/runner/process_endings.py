"""The endings of a process runner on their way to the keeper.

Those of quick functions are sent together. Until they are, they are also kept in shared memory,
where the keeper finds them if this process dies: a function that has ended does not run again
because of the next.
"""

import fcntl
import os
import sys
import termios
import time
from contextlib import suppress

from tenure.runtime.messages import AttemptEnded, Endings, FromKeeper
from tenure.runtime.shared_state import SharedState
from tenure.runtime.wire import PlainChannel, frame

_SEND_WITHIN = 0.005  # seconds from the end of a function, if others follow
_QUICK = 0.002  # seconds; longer functions do not begin before earlier endings are sent
_READ_WITHIN = 5.0  # seconds for the keeper to read the output of a function


class EndingBatch:
    def __init__(self, channel: PlainChannel[FromKeeper], shared: SharedState) -> None:
        self._channel = channel
        self._shared = shared
        self._ended: list[AttemptEnded] = []
        self._since = 0.0  # the end of the first of them
        self._durations: dict[str, float] = {}  # by task: of its last run, in seconds
        self._output = os.dup(1), os.dup(2)  # jobs may replace the descriptors

    def add(self, task: str, ended: AttemptEnded, *, is_last: bool) -> None:
        """Take the ending of a function; send it at once if nothing else follows."""
        now = ended.began + ended.took
        self._durations[task] = ended.took
        if not self._ended:
            self._since = now
        self._ended.append(ended)
        is_kept = self._shared.add_ending(frame(Endings((ended,))))
        has_output = self._has_output()
        if is_last or has_output or not is_kept or now - self._since >= _SEND_WITHIN:
            self.send()
        if has_output and not is_last:
            self._wait_for_reader(ended.run)

    def send(self) -> None:
        if self._ended:
            self._channel.send(Endings(tuple(self._ended)))
            self._ended.clear()
            self._shared.forget_endings()

    def send_before(self, task: str) -> None:
        """Send what there is, unless the function that begins now is known to be quick."""
        if self._ended and self._durations.get(task, 1.0) > _QUICK:
            self.send()

    def _has_output(self) -> bool:
        """Tell whether the keeper has yet to read output, or to assign it to a run."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
            sys.stderr.flush()
        return any(map(_unread, self._output)) or self._shared.has_output

    def _wait_for_reader(self, run: int) -> None:
        """Wait until the keeper knows whose output it has: the next run may write, too."""
        until = time.monotonic() + _READ_WITHIN
        while self._shared.handled != run and time.monotonic() < until:
            time.sleep(0.0001)


def _unread(output: int) -> int:
    """Return how many bytes in a pipe were not read."""
    try:
        return int.from_bytes(fcntl.ioctl(output, termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return 0
