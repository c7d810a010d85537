"""The job in every line that its code logs with structlog.

    from tenure.contrib.structlog import bind_jobs

    bind_jobs()

Write this in the module of the app, and ``structlog.contextvars.merge_contextvars`` among the
processors of structlog.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from structlog.contextvars import bound_contextvars

from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.observation import observe


def bind_jobs() -> None:
    """Bind tenant, job, task and attempt while the code of a job runs."""
    observe(_bound)


@contextmanager
def _bound(attempt: Attempt) -> Iterator[None]:
    work = attempt.work
    with bound_contextvars(
        tenant=attempt.link.tenant, job=work.id, task=work.task, attempt=work.attempt
    ):
        yield
