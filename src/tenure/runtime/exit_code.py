"""The exit code of a worker."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of a worker."""

    DRAINED = 0  # all its jobs were finished
    ERROR = 1
    NOT_IMPORTED = 3  # the module with the task functions cannot be imported
    HANDED_OVER = 4  # drain_grace ended; the remaining jobs were released or paused
    HURRIED = 5  # a second signal arrived; the remaining jobs were released or paused
