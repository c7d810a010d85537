"""The ending of an attempt, from what its code returned or raised."""

import asyncio
import builtins
import traceback
from collections.abc import Callable, Mapping
from types import NoneType, TracebackType
from typing import Any

import msgspec

from tenure.domain.job import JSON
from tenure.domain.values import storable_text as clean
from tenure.errors import BudgetExceeded, InputRefused
from tenure.runtime.control_exceptions import Discard, Pause, Snooze, Waits
from tenure.runtime.large_values import encode_large, store_result
from tenure.runtime.messages import AttemptEnded
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.failures import (
    CODE_WITHIN,
    called_within,
    decision_of,
    kinds_of,
    name_of,
    retry_after_of,
)
from tenure.runtime.steps.effects import Work

_MAX_TRACEBACK = 20_000
_MAX_CAUSES = 20
_PLAIN = {
    object,
    *(kind for kind in vars(builtins).values() if isinstance(kind, type)),
}
_PLAIN_VALUES = (str, int, float, bool, bytes, NoneType)
# With one of these a class could make the runner run code of the job, or hide what it is.
_CAN_SHOW = frozenset(
    (
        "__str__", "__repr__", "__getattribute__", "__getattr__", "__class__", "__traceback__",
        "__cause__", "__context__", "__suppress_context__", "__notes__", "args",
    )
)  # fmt: skip


def ending_of_result(
    attempt: Attempt, value: Any, write: Callable[[Any], Any]
) -> Work[AttemptEnded]:
    """Return the ending of an attempt whose code returned this value; store a large one."""
    run, in_row = attempt.work.run, int(attempt.link.settings["max_result_bytes"])
    try:
        text = encode_large(attempt, write(value), "the result", in_row)
        if (yield from store_result(attempt, text, in_row)):
            return AttemptEnded(run, "completed", b"null", is_stored=True)
    except InputRefused as refusal:
        return AttemptEnded(run, "failed", error=describe(refusal), gives_up=True)
    return AttemptEnded(run, "completed", text)


def ending_of_error(attempt: Attempt, error: BaseException) -> AttemptEnded:
    """Return the ending of an attempt whose code raised this error."""
    try:
        return _ending_of_error(attempt, error)
    except BaseException:  # noqa: BLE001 - an error that cannot even be asked for its class
        return AttemptEnded(attempt.work.run, "failed", error=describe(error))


def _ending_of_error(attempt: Attempt, error: BaseException) -> AttemptEnded:
    run = attempt.work.run
    match error:
        case Snooze():
            return AttemptEnded(run, "snoozed", delay=error.delay.total_seconds())
        case Discard():
            return AttemptEnded(run, "failed", error=describe(error), gives_up=True)
        case Pause():
            return AttemptEnded(run, "paused", reason=error.reason)
        case BudgetExceeded():
            return AttemptEnded(run, "exhausted", error=describe(error), gives_up=True)
        case Waits():
            return AttemptEnded(run, "waits", until=error.until, due_at=error.due_at)
        case asyncio.CancelledError() if attempt.asked:
            attempt.acknowledge_stop()
            return AttemptEnded(run, "stopped")
        case _:
            return _failure(attempt, error)


def _failure(attempt: Attempt, error: BaseException) -> AttemptEnded:
    """Return the ending of a failed attempt, with what is to be known about another one."""
    run, decision = attempt.work.run, decision_of(attempt, error)
    if isinstance(decision, Discard):
        return AttemptEnded(run, "failed", error=describe(decision), gives_up=True)
    return AttemptEnded(
        run,
        "failed",
        error=describe(error),
        kinds=kinds_of(error),
        retry_after=None if type(error) in _PLAIN else retry_after_of(error),
        decision=decision,
    )


def complete(
    attempt: Attempt,
    ending: AttemptEnded,
    cleanup: Mapping[str, JSON] | None = None,
    left: str = "",
) -> AttemptEnded:
    """Return the ending as the keeper gets it, when nothing more happens in the attempt."""
    if attempt.committed:  # by its own transaction; nothing that came after it counts
        ending = AttemptEnded(attempt.work.run, "committed")
    attempt.end_trace(ending)
    return msgspec.structs.replace(
        ending, heard=attempt.heard, again=tuple(attempt.again), cleanup=cleanup, left=left
    )


def describe(error: BaseException) -> Mapping[str, JSON]:
    """Return an error as it is stored: its type, its message, and where it happened.

    Whatever the error does when it is shown, nothing is raised here, and the wait is short.
    """
    name = name_of(type(error))
    frames = _frames_of(error)
    # The runner's own frames are left out.
    while frames is not None and "tenure/runtime/runner" in frames.tb_frame.f_code.co_filename:
        frames = frames.tb_next
    message = _shown(lambda: str(error), "its message", error)
    lines = _shown(
        lambda: "".join(traceback.format_exception(type(error), error, frames)),
        "its traceback",
        error,
    )
    return {
        "type": clean(name),
        "message": clean(message or name)[:_MAX_TRACEBACK],
        "traceback": clean(lines)[-_MAX_TRACEBACK:],
    }


def as_line(error: BaseException) -> str:
    """Return an error for a log."""
    description = describe(error)
    return f"{description['type']}: {description['message']}"


def _frames_of(error: BaseException) -> TracebackType | None:
    """Return the traceback itself, not what a subclass presents as such."""
    frames: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    return frames


def _shown(show: Callable[[], str], what: str, error: BaseException) -> str:
    """Return the string that code of the job makes of an error, or why there is none."""
    made: list[str] = []

    def make() -> None:
        try:
            # A plain string, whatever class of strings it is given.
            made.append(str.__str__(show()))
        except BaseException as other:  # noqa: BLE001
            made.append(f"{what} cannot be shown: {name_of(type(other))}")

    if _is_plain(error):
        make()
        return made[0]
    try:
        called_within(make)
    except RuntimeError:  # there are no threads left
        return f"{what} cannot be shown: no thread can be started"
    return made[0] if made else f"{what} cannot be shown: it takes longer than {CODE_WITHIN:g} s"


def _is_plain(error: BaseException) -> bool:
    """Tell whether no code of the job runs when this error is shown."""
    seen: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if seen is None:
            return True
        kind = type(seen)
        if kind not in _PLAIN and not _is_inherited_whole(kind):
            return False
        if not all(type(value) in _PLAIN_VALUES for value in seen.args):
            return False
        if getattr(seen, "__notes__", None) is not None:
            return False
        seen = seen.__cause__ or seen.__context__
    return False


def _is_inherited_whole(kind: type[BaseException]) -> bool:
    """Tell whether a class of errors is shown in the same way as the built-in ones."""
    if type(kind) is not type:
        return False
    return all(base in _PLAIN or _CAN_SHOW.isdisjoint(base.__dict__) for base in kind.__mro__)
