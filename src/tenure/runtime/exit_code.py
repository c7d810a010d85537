"""How a worker ended."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a worker ended, as its exit code."""

    DRAINED = 0  # everything it had was finished
    ERROR = 1
    NOT_IMPORTED = 3  # the module with the task functions cannot be imported
    HANDED_OVER = 4  # drain_grace was over; what was left was released or paused
    HURRIED = 5  # a second signal came; likewise
