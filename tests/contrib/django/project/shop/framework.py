"""``django.tasks``, or its backport."""

import django

if django.VERSION >= (6, 0):
    from django.tasks import TaskContext, TaskResultStatus, exceptions, signals, task
else:
    from django_tasks import TaskContext, TaskResultStatus, exceptions, signals, task

InvalidTask = getattr(exceptions, "InvalidTask", None) or exceptions.InvalidTaskError
Missing = exceptions.TaskResultDoesNotExist
Mismatch = exceptions.TaskResultMismatch

__all__ = [
    "InvalidTask",
    "Mismatch",
    "Missing",
    "TaskContext",
    "TaskResultStatus",
    "signals",
    "task",
]
