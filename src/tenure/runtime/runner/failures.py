"""A failed attempt: what its error and the retry function of its task say about another one."""

import contextvars
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenure.domain.bounds import validation_error
from tenure.domain.duration import duration
from tenure.domain.retry import Retry
from tenure.domain.values import refusals_about
from tenure.errors import InputRefused
from tenure.runtime.control_exceptions import Discard
from tenure.runtime.messages import RetryDecision
from tenure.runtime.runner import forks
from tenure.runtime.runner.attempt import Attempt

T = TypeVar("T")

CODE_WITHIN = 5.0  # seconds for code of the job that is called about an error
_CALLING = "tenure-show"  # the name of the thread in which it runs
_MAX_KINDS = 20
_MAX_RETRY_AFTER = 86_400.0  # seconds


def called_within(code: Callable[[], T]) -> list[T]:
    """Call code of the job in a thread; return a list of its result, or an empty one if it is late.

    It must not raise.
    """
    made: list[T] = []
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: made.append(forks.leaving(context.run, code)), name=_CALLING, daemon=True
    )
    thread.start()
    thread.join(CODE_WITHIN)
    return made


def name_of(kind: type[BaseException]) -> str:
    """Return the name of a class of errors with its module, unless that is builtins."""
    name: str = type.__dict__["__qualname__"].__get__(kind)
    try:
        module = str.__str__(kind.__module__)
    except BaseException:  # noqa: BLE001 - its class has a class of its own
        return name
    return name if module == "builtins" else f"{module}.{name}"


def kinds_of(error: BaseException) -> tuple[str, ...]:
    """Return the names of the type of an error and of its base classes."""
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(error))
    return tuple(name_of(base) for base in bases[:_MAX_KINDS] if issubclass(base, Exception))


def retry_after_of(error: BaseException) -> float | None:
    """Return the seconds after which an error asks to be retried; None: it does not say.

    Errors of HTTP clients have it as ``retry_after``, or in the headers of their response. Whatever
    the error does when it is asked, nothing is raised here, and the wait is short.
    """

    def read() -> float | None:
        try:
            seconds = _seconds(_stated(error))
        except BaseException:  # noqa: BLE001 - code of the error
            return None
        return None if seconds is None else min(max(seconds, 0.0), _MAX_RETRY_AFTER)

    try:
        read_in_time = called_within(read)
    except RuntimeError:  # there are no threads left
        return None
    return read_in_time[0] if read_in_time else None


def _stated(error: Any) -> Any:
    if (stated := getattr(error, "retry_after", None)) is not None:
        return stated
    for holder in (error, getattr(error, "response", None)):
        headers: Any = getattr(holder, "headers", None)
        if isinstance(headers, Mapping) or hasattr(headers, "get"):
            stated = headers.get("Retry-After") or headers.get("retry-after")
            if stated is not None:
                return stated
    return None


def _seconds(stated: Any) -> float | None:
    if stated is None:
        return None
    try:
        return duration(float(stated) if isinstance(stated, str) else stated).total_seconds()
    except ValueError:
        at = parsedate_to_datetime(stated)  # an HTTP date
        return (at.astimezone(UTC) - datetime.now(UTC)).total_seconds()


def decision_of(attempt: Attempt, error: BaseException) -> RetryDecision | Discard | None:
    """Return what the retry function of a task decides; None: it has none, or it failed."""
    task = attempt.link.app.tasks.get(attempt.work.task)
    retry = task.options.retry if task is not None else None
    return None if retry is None else decision_by(retry, attempt, error)


def decision_by(
    retry: Retry, attempt: Attempt, error: BaseException
) -> RetryDecision | Discard | None:
    """Return what the function of a retry decides; None: it has none, or it failed.

    The job's log tells of a function that failed.
    """
    function = retry.function
    if function is None or isinstance(function, str):
        return None
    context = attempt.make_context()

    def decide() -> RetryDecision | Discard | str:
        try:
            return _read(function(error, context))
        except Discard as discard:
            return discard
        except InputRefused as refusal:
            return str(refusal)
        except BaseException as other:  # noqa: BLE001 - code of the job
            return f"it raised {name_of(type(other))}"

    try:
        decided = called_within(decide)
    except RuntimeError:
        decided = ["no thread can be started"]
    decision = decided[0] if decided else f"it took longer than {CODE_WITHIN:g} s"
    if isinstance(decision, str):
        attempt.log("warning", f"the retry function did not decide: {decision}; backoff applies")
        return None
    return decision


def _read(decision: Any) -> RetryDecision | Discard:
    match decision:
        case Discard():
            return decision
        case None | True:
            return RetryDecision(True)
        case False:
            return RetryDecision(False)
        case _:
            with refusals_about("what it returned"):
                delay = duration(decision)
                if wrong := validation_error("delay", delay):
                    raise InputRefused(wrong)
            return RetryDecision(True, delay.total_seconds())
