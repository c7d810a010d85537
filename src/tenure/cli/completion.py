"""Shell completion from the database.

The shell waits for it, so it takes at most a second, and offers nothing after any error.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tenure.domain.lifecycle import Status

_TIMEOUT = timedelta(seconds=1)
_MAX_WORDS = 50


def complete_tasks(ctx: Any, incomplete: str) -> list[str]:
    """Complete the names of announced tasks."""
    from tenure.store.calls import task_calls

    return _complete(ctx, incomplete, lambda ask: (task.name for task in ask(task_calls.tasks())))


def complete_queues(ctx: Any, incomplete: str) -> list[str]:
    """Complete the names of queues."""
    from tenure.store.calls import queries

    return _complete(ctx, incomplete, lambda ask: ask(queries.queues()))


def complete_jobs(ctx: Any, incomplete: str) -> list[str]:
    """Complete the ids and keys of the newest jobs."""
    from tenure.store.calls import queries

    def names(ask: Callable[..., Any]) -> Iterable[str]:
        for job in ask(queries.list_jobs({}, n=_MAX_WORDS)):
            yield str(job.id)
            if job.key:
                yield job.key

    return _complete(ctx, incomplete, names)


def complete_statuses(incomplete: str) -> list[str]:
    """Complete the statuses of jobs."""
    return [str(status) for status in Status if status.startswith(incomplete)]


def _complete(
    ctx: Any, incomplete: str, names: Callable[[Callable[..., Any]], Iterable[str]]
) -> list[str]:
    try:
        from tenure.cli.connection import Connection
        from tenure.store.embedded import is_running

        given = ctx.params
        to = Connection(given.get("url"), given.get("tenant"), given.get("token"))
        to.client.settings = replace(to.client.settings, connect_timeout=_TIMEOUT)
        if to.client.known_url is None and not is_running(to.client.settings.folder):
            return []  # starting a database takes too long
        try:
            found = names(lambda call: to.send(call.within(_TIMEOUT)))
            return [name for name in found if name.startswith(incomplete)][:_MAX_WORDS]
        finally:
            to.close()
    except BaseException:  # noqa: BLE001 - the shell cannot show an error
        return []
