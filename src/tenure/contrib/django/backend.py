"""The backend for ``django.tasks``."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.core import checks
from django.db import connection, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from tenure.contrib.django import framework
from tenure.contrib.django.application import app
from tenure.contrib.django.execution import declare, declared_task
from tenure.contrib.django.framework import BaseTaskBackend, TaskResult, TaskResultDoesNotExist
from tenure.contrib.django.options import options_of
from tenure.contrib.django.results import change, new_result, result_id, result_of
from tenure.control.artifact_files import with_result
from tenure.control.enqueue_options import EnqueueOptionSet
from tenure.control.task import Task
from tenure.domain import bounds
from tenure.domain.job import Job
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused

_OF_TASKS = ("connection", "key", "priority", "queue", "run_at")  # no options of a backend


class TenureBackend(BaseTaskBackend):
    """The backend of ``settings.TASKS`` whose tasks are jobs of Tenure.

    A task that is enqueued in ``transaction.atomic()`` is there when the transaction commits, and
    never if it rolls back; ``"ENQUEUE_ON_COMMIT": False`` enqueues it at once. ``OPTIONS`` are
    options of each job, such as ``{"retry": 0, "timeout": "5m"}``; those of ``task_options`` come
    first.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self._is_on_commit = bool(params.get("ENQUEUE_ON_COMMIT", True))

    def validate_task(self, task: Any) -> None:
        """Refuse a task that cannot run, and declare it to the app."""
        super().validate_task(task)
        declare(task)

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Make a job of the task."""
        self.validate_task(task)
        result = new_result(task, args, kwargs, self.alias)
        bound = self._bound(task, result.args, result.kwargs)
        if self._is_on_commit and app.is_separate and connection.in_atomic_block:
            key = str(uuid4())
            keyed = bound.using(key=key)
            transaction.on_commit(lambda: keyed.enqueue(args=result.args, kwargs=result.kwargs))
            change(result, id=key)
        else:
            place: AbstractContextManager[None] = nullcontext()
            if not self._is_on_commit:
                place = app.outside_transaction()
            with place:
                change(
                    result,
                    id=result_id(bound.enqueue(args=result.args, kwargs=result.kwargs).id, None),
                )
        change(result, enqueued_at=timezone.now())
        framework.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """Return the result of a task as it is now."""
        name = str(result_id)
        named: int | str = int(name) if name.isascii() and name.isdigit() else name
        try:
            handle = app.handle(named, tenant=self.options.get("tenant", DEFAULT))
            job = handle.job()
        except InputRefused:  # there is no such job, and there cannot be
            raise TaskResultDoesNotExist(result_id) from None
        job = with_result(app.settings, Tenant(handle.tenant), job)
        return result_of(job, _task_of(job), self.alias)

    def check(self, **kwargs: Any) -> Iterable[checks.CheckMessage]:
        """Return what is wrong with the settings of this backend."""
        yield from super().check(**kwargs)
        for number, problem in self._problems():
            yield checks.Error(f"TASKS[{self.alias!r}]: {problem}", id=f"tenure.E{number:03}")

    def _problems(self) -> Iterable[tuple[int, str]]:
        if not apps.is_installed("tenure.contrib.django"):
            yield 3, "INSTALLED_APPS has no 'tenure.contrib.django'"
        for name in sorted({*self.options}.intersection(_OF_TASKS)):
            yield 4, f"OPTIONS: {name} is not an option of a backend; set it on each task"
        try:
            EnqueueOptionSet().changed(self.options)
        except (InputRefused, TypeError) as why:
            yield 4, f"OPTIONS: {why}"
        for queue in self.queues:
            if (wrong := bounds.validation_error("queue", queue)) is not None:
                yield 5, f"QUEUES: {wrong}"

    def _bound(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Task[..., Any]:
        run_at = task.run_after
        if run_at is not None and timezone.is_naive(run_at):
            run_at = timezone.make_aware(run_at)
        own = options_of(task)
        options = {name: it for name, it in self.options.items() if name not in own.plain}
        options |= own.filled(task.takes_context, args, kwargs)
        return declare(task).using(
            **options, priority=task.priority, queue=task.queue_name, run_at=run_at
        )


def _task_of(job: Job) -> Any:
    """Return the task of Django that a job runs."""
    name = job.task or ""
    task = declared_task(name)
    if task is None:
        with suppress(ImportError):
            import_string(name)  # declares it
        task = declared_task(name)
    if task is None:
        raise TaskResultDoesNotExist(f"job {job.id} is not one of a task of Django: {name}")
    return task
