"""Functions of ``django.tasks`` as tasks of Tenure, and how a worker runs them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from django.utils import timezone

from tenure.contrib.django import framework
from tenure.contrib.django.application import app
from tenure.contrib.django.framework import TaskContext, TaskResult, TaskResultStatus
from tenure.contrib.django.options import options_of
from tenure.contrib.django.results import as_task_error, change, new_result, result_id
from tenure.control.signature import Signature
from tenure.control.task import Task
from tenure.domain.job import JSON
from tenure.domain.options import Executor
from tenure.runtime.context import Context
from tenure.runtime.control_exceptions import ControlException, Discard
from tenure.runtime.runner.endings import describe

# The arguments of a task of Django are kept as it takes them: by position and by name.
_SIGNATURE = Signature({"args": list[Any], "kwargs": dict[str, Any]}, takes_context=True)

_declared: dict[str, Any] = {}  # tasks of Django by the path of their function


@dataclass(frozen=True, slots=True, kw_only=True)
class TenureTaskContext(TaskContext):
    """The context of a task of Django; ``tenure`` is that of Tenure: progress, steps, stops."""

    tenure: Context


def declare(task: Any) -> Task[..., Any]:
    """Return a task of Django as a task of the app, named by the path of its function."""
    name: str = task.module_path
    if name not in app.tasks:
        _declared[name] = task
        options = options_of(task)
        by_default: Executor = "async" if iscoroutinefunction(task.func) else "process"
        executor = options.executor or by_default
        app._added(name, _runnable(task), _SIGNATURE, executor, dict(options.plain))
    return app.tasks[name]


def declared_task(name: str) -> Any:
    """Return the task of Django with this path; None if this process has not imported it."""
    return _declared.get(name)


def _runnable(task: Any) -> Callable[..., Any]:
    if iscoroutinefunction(task.func):

        @wraps(task.func)
        async def arun(ctx: Context, args: list[JSON], kwargs: dict[str, JSON]) -> Any:
            with _reported(task, ctx, args, kwargs) as result:
                value = await task.func(*_context(task, ctx, result), *args, **kwargs)
                return _returned(result, value)

        return arun

    @wraps(task.func)
    def run(ctx: Context, args: list[JSON], kwargs: dict[str, JSON]) -> Any:
        with _reported(task, ctx, args, kwargs) as result:
            value = task.func(*_context(task, ctx, result), *args, **kwargs)
            return _returned(result, value)

    return run


def _returned(result: TaskResult, value: Any) -> JSON:
    """Keep what the function returned; what JSON has not is a TypeError."""
    kept = framework.normalize_json(value)
    change(result, _return_value=kept)
    return kept


def _context(task: Any, ctx: Context, result: TaskResult) -> tuple[Any, ...]:
    return (TenureTaskContext(task_result=result, tenure=ctx),) if task.takes_context else ()


@contextmanager
def _reported(
    task: Any, ctx: Context, args: list[JSON], kwargs: dict[str, JSON]
) -> Iterator[TaskResult]:
    """Send the signals of Django: that a task begins, and how it ends.

    A failure is an end only if no other attempt follows. A stop is none: the task may run again.
    """
    began = timezone.now()
    result = new_result(task, args, kwargs, task.backend, result_id(ctx.job.id, ctx.job.key))
    change(
        result,
        status=TaskResultStatus.RUNNING,
        started_at=began,
        last_attempted_at=began,
        worker_ids=[ctx._attempt.link.worker] * ctx.attempt,
    )
    sender = type(task.get_backend())
    framework.task_started.send(sender, task_result=result)
    try:
        yield result
    except Exception as error:
        is_last = ctx.is_last_attempt and not isinstance(error, ControlException)
        if is_last or isinstance(error, Discard):
            result.errors.append(as_task_error(describe(error)))
            change(result, status=TaskResultStatus.FAILED, finished_at=timezone.now())
            framework.task_finished.send(sender, task_result=result)
        raise
    change(result, status=TaskResultStatus.SUCCESSFUL, finished_at=timezone.now())
    framework.task_finished.send(sender, task_result=result)
