"""Wrap up an attempt whose code has ended: hooks, then resources, then files.

None of these steps can change how the attempt ended.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.runtime.messages import AttemptEnded
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.endings import as_line
from tenure.runtime.temporary import remove

if TYPE_CHECKING:
    from tenure.runtime.resources.coordinator import CleanupCoordinator

_log = logging.getLogger("tenure.job")

_LIMITS: Mapping[str, type[Exception]] = {
    "policy:timeout": TimeoutError,
    "policy:memory": MemoryError,
}


def coordinator(attempt: Attempt) -> "CleanupCoordinator":
    """Return a coordinator for the resources of an attempt."""
    from tenure.runtime.resources.coordinator import CleanupCoordinator

    def retry_later(task: str, args: Mapping[str, JSON]) -> None:
        attempt.again.append((task, args))

    return CleanupCoordinator(
        attempt.close_timeout, flush=attempt.flush_progress, retry_later=retry_later
    )


async def awrap_up(
    attempt: Attempt, ending: AttemptEnded, error: BaseException | None
) -> Mapping[str, JSON] | None:
    _report_cleaning(attempt)
    if (hook := _hook(attempt, ending, error)) is not None:
        try:
            async with asyncio.timeout(attempt.hook_timeout):
                if inspect.isawaitable(result := hook()):
                    await result
        except BaseException as problem:  # noqa: BLE001 - it must not change how the job ended
            _log.error("a hook failed: %s", as_line(problem))
    report = None
    if (resources := _resources(attempt)) is not None:
        report = await resources.aclose(*_stop_of(attempt), error)
    if _folder(attempt).exists() or _is_discarded(attempt, ending):
        await asyncio.to_thread(_remove_files, attempt, ending)
    return report


def wrap_up(
    attempt: Attempt, ending: AttemptEnded, error: BaseException | None
) -> Mapping[str, JSON] | None:
    _report_cleaning(attempt)
    if (hook := _hook(attempt, ending, error)) is not None:
        try:
            if inspect.iscoroutine(result := hook()):
                asyncio.run(asyncio.wait_for(result, attempt.hook_timeout))
        except BaseException as problem:  # noqa: BLE001 - it must not change how the job ended
            _log.error("a hook failed: %s", as_line(problem))
    report = None
    if (resources := _resources(attempt)) is not None:
        report = resources.close(*_stop_of(attempt), error)
    _remove_files(attempt, ending)
    return report


def _report_cleaning(attempt: Attempt) -> None:
    """Report that the code of a stopped attempt has ended, for the record of the stop."""
    if attempt.orders is not None and attempt.orders.cancellation_id is not None:
        attempt.report(cleaning=True)


def _hook(
    attempt: Attempt, ending: AttemptEnded, error: BaseException | None
) -> Callable[[], Any] | None:
    task = attempt.link.app.tasks.get(attempt.work.task)
    if task is None:
        return None
    ended_by = ending.how
    if ended_by == "stopped" and (limit := _passed_limit(attempt)) is not None:
        ended_by, error = "failed", limit
    if ended_by == "stopped" and (cancel := task.cancel_hook) and not _continues_elsewhere(attempt):
        return lambda: cancel(attempt.make_context())
    if ended_by == "failed" and (fail := task.failure_hook):
        return lambda: fail(attempt.make_context(), error)
    return None


def _passed_limit(attempt: Attempt) -> BaseException | None:
    """Return the failure that the keeper makes of an attempt that it stopped for a limit."""
    orders = attempt.orders
    if orders is None or orders.by not in _LIMITS:
        return None
    return _LIMITS[orders.by](orders.reason)


def _continues_elsewhere(attempt: Attempt) -> bool:
    """Tell whether only this attempt ends: its worker leaves, or another job needs its slot."""
    return attempt.orders is not None and attempt.orders.cancellation_id is None


def _resources(attempt: Attempt) -> "CleanupCoordinator | None":
    return attempt.context.opened_resources if attempt.context is not None else None


def _stop_of(attempt: Attempt) -> tuple[str | None, str | None]:
    orders = attempt.orders
    return (orders.by, orders.reason) if orders is not None else (None, None)


def _remove_files(attempt: Attempt, ending: AttemptEnded) -> None:
    folder = _folder(attempt)
    if folder.exists():
        remove(folder)
    if _is_discarded(attempt, ending):
        from tenure.runtime.artifacts import artifacts_of

        try:
            artifacts_of(attempt).discard((), last=False)
        except Exception as problem:  # noqa: BLE001 - of any store; a keeper tries again
            _log.warning("its artifacts could not be deleted yet: %r", problem)
        else:
            attempt.report(forget_artifacts=True)
            artifacts_of(attempt).forget()


def _folder(attempt: Attempt) -> Path:
    """Return the folder of its temporary directories."""
    return attempt.link.folder / str(attempt.work.run)


def _is_discarded(attempt: Attempt, ending: AttemptEnded) -> bool:
    """Tell whether its artifacts are to be deleted: it ends cancelled and does not preserve them.

    A job that exceeds its budget ends failed. A keeper deletes what is not deleted here.
    """
    orders = attempt.orders
    if orders is None or orders.cancellation_id is None or orders.intent is not Intent.CANCEL:
        return False
    if attempt.committed or orders.by == "policy:budget":
        return False
    kept = attempt.work.preserve_artifacts if orders.preserve is None else orders.preserve
    return not kept and (ending.how == "stopped" or attempt.heard)
