"""Tenure in a project of Django: tasks, transactions, commands and admin pages.

``TenureBackend`` is the backend for ``django.tasks``, and for the package ``django-tasks`` before
Django 6. ``app`` is the app of the project, for tasks with all options of Tenure. Its jobs are
enqueued in the transaction of Django. Add ``tenure.contrib.django`` to ``INSTALLED_APPS``. Needs
the extra ``django``.
"""

from typing import TYPE_CHECKING

from tenure._lazy import lazy

if TYPE_CHECKING:
    from tenure.contrib.django.application import DjangoTenure as DjangoTenure
    from tenure.contrib.django.application import app as app
    from tenure.contrib.django.backend import TenureBackend as TenureBackend
    from tenure.contrib.django.execution import TenureTaskContext as TenureTaskContext
    from tenure.contrib.django.options import task_options as task_options

__getattr__, __all__ = lazy(
    __name__,
    {
        "tenure.contrib.django.application": ("DjangoTenure", "app"),
        "tenure.contrib.django.backend": ("TenureBackend",),
        "tenure.contrib.django.execution": ("TenureTaskContext",),
        "tenure.contrib.django.options": ("task_options",),
    },
)
