"""What happens between the end of a job's code and the end of its attempt.

The hooks of its task, then the clean-up of its resources, then its temporary directories. None of
them can change how the attempt ended.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.endings import in_words
from tenure.runtime.temporary import remove

if TYPE_CHECKING:
    from tenure.runtime.resources import CleanupCoordinator

_log = logging.getLogger("tenure.job")

_LIMITS: Mapping[str, type[Exception]] = {
    "policy:timeout": TimeoutError,
    "policy:memory": MemoryError,
}


def coordinator(attempt: Attempt) -> "CleanupCoordinator":
    """The resources of an attempt."""
    from tenure.runtime.resources import CleanupCoordinator

    def retry_later(task: str, args: Mapping[str, JSON]) -> None:
        attempt.again.append((task, args))

    return CleanupCoordinator(
        attempt.close_timeout, flush=attempt.say_the_rest, retry_later=retry_later
    )


async def awrap_up(
    attempt: Attempt, how: Mapping[str, Any], error: BaseException | None
) -> Mapping[str, JSON] | None:
    _say_cleaning(attempt)
    if (hook := _hook(attempt, how, error)) is not None:
        try:
            async with asyncio.timeout(attempt.hook_timeout):
                if inspect.isawaitable(result := hook()):
                    await result
        except BaseException as problem:  # noqa: BLE001 - it must not change how the job ended
            _log.error("a hook failed: %s", in_words(problem))
    report = None
    if (resources := _resources(attempt)) is not None:
        report = await resources.aclose(*_stop_of(attempt), error)
    if _folder(attempt).exists() or _is_discarded(attempt, how):
        await asyncio.to_thread(_remove_files, attempt, how)
    return report


def wrap_up(
    attempt: Attempt, how: Mapping[str, Any], error: BaseException | None
) -> Mapping[str, JSON] | None:
    _say_cleaning(attempt)
    if (hook := _hook(attempt, how, error)) is not None:
        try:
            if inspect.iscoroutine(result := hook()):
                asyncio.run(asyncio.wait_for(result, attempt.hook_timeout))
        except BaseException as problem:  # noqa: BLE001 - it must not change how the job ended
            _log.error("a hook failed: %s", in_words(problem))
    report = None
    if (resources := _resources(attempt)) is not None:
        report = resources.close(*_stop_of(attempt), error)
    _remove_files(attempt, how)
    return report


def _say_cleaning(attempt: Attempt) -> None:
    """Tell the keeper that the code of a stopped attempt has ended, so that its record says so."""
    if attempt.orders is not None and attempt.orders.cancellation_id is not None:
        attempt.say(cleaning=True)


def _hook(
    attempt: Attempt, how: Mapping[str, Any], error: BaseException | None
) -> Callable[[], Any] | None:
    task = attempt.link.app.tasks.get(attempt.work.task)
    if task is None:
        return None
    ended_by = how["how"]
    if ended_by == "stopped" and (limit := _passed_limit(attempt)) is not None:
        ended_by, error = "failed", limit
    if ended_by == "stopped" and (hook := task.cancel_hook) and not _goes_on_elsewhere(attempt):
        return lambda: hook(attempt.make_context())
    if ended_by == "failed" and (hook := task.failure_hook):
        return lambda: hook(attempt.make_context(), error)
    return None


def _passed_limit(attempt: Attempt) -> BaseException | None:
    """The failure that the keeper makes of an attempt that it stopped for a limit."""
    orders = attempt.orders
    if orders is None or orders.by not in _LIMITS:
        return None
    return _LIMITS[orders.by](orders.reason)


def _goes_on_elsewhere(attempt: Attempt) -> bool:
    """Whether nobody wants it to end: its worker leaves, or another job needs its slot."""
    return attempt.orders is not None and attempt.orders.cancellation_id is None


def _resources(attempt: Attempt) -> "CleanupCoordinator | None":
    return attempt.context.opened_resources if attempt.context is not None else None


def _stop_of(attempt: Attempt) -> tuple[str | None, str | None]:
    orders = attempt.orders
    return (orders.by, orders.reason) if orders is not None else (None, None)


def _remove_files(attempt: Attempt, how: Mapping[str, Any]) -> None:
    folder = _folder(attempt)
    if folder.exists():
        remove(folder)
    if _is_discarded(attempt, how):
        from tenure.runtime.artifacts import artifacts_of

        try:
            artifacts_of(attempt).discard((), last=False)
        except Exception as problem:  # noqa: BLE001 - of any store; a keeper tries again
            _log.warning("its artifacts are not deleted yet: %r", problem)
        else:
            attempt.say(forget_artifacts=True)
            artifacts_of(attempt).forget()


def _folder(attempt: Attempt) -> Path:
    """The place of its temporary directories."""
    return attempt.link.folder / str(attempt.work.run)


def _is_discarded(attempt: Attempt, how: Mapping[str, Any]) -> bool:
    """Whether nobody wants its artifacts: it ends cancelled, and they are not to be preserved.

    What is over its budget ends failed. Whatever is not deleted here, a keeper deletes.
    """
    orders = attempt.orders
    if orders is None or orders.cancellation_id is None or orders.intent is not Intent.CANCEL:
        return False
    if attempt.committed or orders.by == "policy:budget":
        return False
    kept = attempt.work.preserve_artifacts if orders.preserve is None else orders.preserve
    return not kept and (how["how"] == "stopped" or attempt.heard)
