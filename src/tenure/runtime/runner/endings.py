"""How an attempt ended, from what its code returned or raised."""

import asyncio
import builtins
import contextvars
import threading
import traceback
from collections.abc import Callable, Mapping
from types import NoneType, TracebackType
from typing import Any

from tenure.domain.job import JSON
from tenure.domain.values import storable_text as clean
from tenure.errors import InputRefused
from tenure.runtime.control_exceptions import Discard, Pause, Snooze, WaitsForChildren
from tenure.runtime.messages import AttemptEnded
from tenure.runtime.runner import forks
from tenure.runtime.runner.attempt import Attempt
from tenure.store.new_jobs import encode_bounded

_MOST_TRACEBACK = 20_000
_MOST_CAUSES = 20
_SHOW_WITHIN = 5.0  # seconds
_SHOWING = "tenure-show"
_PLAIN = {
    object,
    *(kind for kind in vars(builtins).values() if isinstance(kind, type)),
}
_PLAIN_VALUES = (str, int, float, bool, bytes, NoneType)
# By one of these a class could make the runner run code of the job, or hide what it is.
_CAN_SHOW = frozenset(
    (
        "__str__", "__repr__", "__getattribute__", "__getattr__", "__class__", "__traceback__",
        "__cause__", "__context__", "__suppress_context__", "__notes__", "args",
    )
)  # fmt: skip


def returned(attempt: Attempt, value: Any, write: Any) -> dict[str, Any]:
    """The end of an attempt whose code returned this."""
    most = int(attempt.link.settings["max_result_bytes"])
    try:
        return {"how": "completed", "value": encode_bounded(write(value), "the result", most)}
    except InputRefused as refusal:
        return {"how": "failed", "error": described(refusal), "gives_up": True}


def raised(attempt: Attempt, error: BaseException) -> dict[str, Any]:
    """The end of an attempt whose code raised this."""
    try:
        return _raised(attempt, error)
    except BaseException:  # noqa: BLE001 - an error that cannot even be asked for its class
        return {"how": "failed", "error": described(error)}


def _raised(attempt: Attempt, error: BaseException) -> dict[str, Any]:
    match error:
        case Snooze():
            return {"how": "snoozed", "delay": error.delay.total_seconds()}
        case Discard():
            return {"how": "failed", "error": described(error), "gives_up": True}
        case Pause():
            return {"how": "paused", "reason": error.reason}
        case WaitsForChildren():
            return {"how": "waits"}
        case asyncio.CancelledError() if attempt.asked:
            attempt.hear()
            return {"how": "stopped"}
        case _:
            return {"how": "failed", "error": described(error)}


def described(error: BaseException) -> Mapping[str, JSON]:
    """An error as it is kept: its type, its message, and where it happened.

    Whatever the error does when it is asked to show itself, nothing is raised here, and nobody
    waits long for it.
    """
    name = _name_of(error)
    # Of the frames of the runner itself nobody learns anything.
    frames = _frames_of(error)
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
        "message": clean(message or name)[:_MOST_TRACEBACK],
        "traceback": clean(lines)[-_MOST_TRACEBACK:],
    }


def in_words(error: BaseException) -> str:
    """An error in one line, for a log."""
    told = described(error)
    return f"{told['type']}: {told['message']}"


def _name_of(error: BaseException) -> str:
    kind = type(error)
    name: str = type.__dict__["__qualname__"].__get__(kind)
    try:
        module = str.__str__(kind.__module__)
    except BaseException:  # noqa: BLE001 - its class has a class of its own
        return name
    return name if module == "builtins" else f"{module}.{name}"


def _frames_of(error: BaseException) -> TracebackType | None:
    """Not what a subclass may say about it."""
    frames: TracebackType | None = BaseException.__dict__["__traceback__"].__get__(error)
    return frames


def _shown(show: Callable[[], str], what: str, error: BaseException) -> str:
    """A text that code of the job makes of an error, or why there is none."""
    made: list[str] = []

    def make() -> None:
        try:
            # A plain string, whatever class of strings it is given.
            made.append(str.__str__(show()))
        except BaseException as other:  # noqa: BLE001
            made.append(f"{what} cannot be shown: {_name_of(other)}")

    if _is_plain(error):
        make()
        return made[0]
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: forks.leaving(context.run, make), name=_SHOWING, daemon=True
    )
    try:
        thread.start()
    except RuntimeError:  # there are no threads left
        return f"{what} cannot be shown: no thread can be started"
    thread.join(_SHOW_WITHIN)
    return made[0] if made else f"{what} cannot be shown: it takes longer than {_SHOW_WITHIN:g} s"


def _is_plain(error: BaseException) -> bool:
    """Say whether no code of the job runs when this error is shown."""
    seen: BaseException | None = error
    for _ in range(_MOST_CAUSES):
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
    """Say whether a class of errors shows itself just as the built-in ones do."""
    if type(kind) is not type:
        return False
    return all(base in _PLAIN or _CAN_SHOW.isdisjoint(base.__dict__) for base in kind.__mro__)


def ended(attempt: Attempt, how: Mapping[str, Any], **more: Any) -> AttemptEnded:
    if attempt.committed:  # by its own transaction; nothing that came after it counts
        how = {"how": "committed"}
    attempt.end_trace(how)
    return AttemptEnded(
        attempt.work.run, heard=attempt.heard, again=tuple(attempt.again), **how, **more
    )
