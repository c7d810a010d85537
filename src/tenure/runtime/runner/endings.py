"""How an attempt ended, from what its code returned or raised."""

import asyncio
import traceback
from collections.abc import Mapping
from typing import Any

from tenure.domain.job import JSON
from tenure.domain.values import storable_text as clean
from tenure.errors import InputRefused
from tenure.runtime.messages import Ended
from tenure.runtime.raised import Discard, Pause, Snooze, WaitsForChildren
from tenure.runtime.runner.attempt import Attempt
from tenure.store.new_jobs import written

_MOST_TRACEBACK = 20_000


def returned(attempt: Attempt, value: Any, write: Any) -> dict[str, Any]:
    """The end of an attempt whose code returned this."""
    most = int(attempt.link.settings["max_result_bytes"])
    try:
        return {"how": "completed", "value": written(write(value), "the result", most)}
    except InputRefused as refusal:
        return {"how": "failed", "error": described(refusal), "gives_up": True}


def raised(attempt: Attempt, error: BaseException) -> dict[str, Any]:
    """The end of an attempt whose code raised this."""
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
    """An error as it is kept: its type, its message, and where it happened."""
    kind = type(error)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    try:
        message = str(error)
    except Exception as other:  # noqa: BLE001 - an error that cannot say what it is
        message = f"its message cannot be shown: {type(other).__name__}"
    # Of the frames of the runner itself nobody learns anything.
    frames = error.__traceback__
    while frames is not None and "tenure/runtime/runner" in frames.tb_frame.f_code.co_filename:
        frames = frames.tb_next
    lines = "".join(traceback.format_exception(kind, error, frames))
    return {
        "type": clean(name),
        "message": clean(message or name)[:_MOST_TRACEBACK],
        "traceback": clean(lines)[-_MOST_TRACEBACK:],
    }


def ended(attempt: Attempt, how: Mapping[str, Any], **more: Any) -> Ended:
    if attempt.committed:  # by its own transaction; nothing that came after it counts
        how = {"how": "committed"}
    attempt.end_trace(how)
    return Ended(attempt.work.run, heard=attempt.heard, again=tuple(attempt.again), **how, **more)
