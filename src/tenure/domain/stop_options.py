"""The options of a stop, for Python, the command line, REST, bulk operations and strategies."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from tenure.domain.duration import Duration
from tenure.domain.options import LastRung, Reader, read_duration, read_last_rung


class StopDetails(TypedDict, total=False):
    """Options of a stop that are always keywords. Left out: as the strategy says, then the task."""

    strategy: str | None  # a named set of these options
    grace: Duration | None  # from now to the kill
    ask_for: Duration | None  # part of the grace before its code is interrupted
    last_rung: LastRung | None  # the furthest that the stop may go
    rollback: bool | None  # undo what its children had completed, newest first
    rollback_tasks: Sequence[int] | None  # undo only these children
    preserve: bool | None  # keep the artifacts of what is cancelled


class StopOptions(StopDetails, total=False):
    """All options of a stop. Left out: as the strategy says, then the task."""

    force: bool | None  # kill it at once
    cascade: bool | None  # also cancel the jobs that come after it


_READERS: Mapping[str, Reader] = {
    "grace": read_duration,
    "ask_for": read_duration,
    "last_rung": read_last_rung,
}


def read_stop_options(options: Mapping[str, Any]) -> StopOptions:
    """Return the options with durations as timedelta and the rung as Rung, or refuse them."""
    read = {
        name: _READERS[name](name, value) if name in _READERS else value
        for name, value in options.items()
        if value is not None
    }
    return cast("StopOptions", read)
