"""What the shell offers for a word that is being typed, read from the database.

A shell waits for it, so it takes a second at most, and whatever goes wrong offers nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tenure.domain.lifecycle import Status

_WITHIN = timedelta(seconds=1)
_MOST = 50  # words that are offered


def complete_tasks(ctx: Any, incomplete: str) -> list[str]:
    """Offer the names of announced tasks."""
    from tenure.store.calls import task_calls

    return _offered(ctx, incomplete, lambda ask: (it.name for it in ask(task_calls.tasks())))


def complete_queues(ctx: Any, incomplete: str) -> list[str]:
    """Offer the names of queues."""
    from tenure.store.calls import queries

    return _offered(ctx, incomplete, lambda ask: ask(queries.queues()))


def complete_jobs(ctx: Any, incomplete: str) -> list[str]:
    """Offer the ids and keys of the newest jobs."""
    from tenure.store.calls import queries

    def names(ask: Callable[..., Any]) -> Iterable[str]:
        for job in ask(queries.list_jobs({}, n=_MOST)):
            yield str(job.id)
            if job.key:
                yield job.key

    return _offered(ctx, incomplete, names)


def complete_statuses(incomplete: str) -> list[str]:
    """Offer the statuses that a job can have."""
    return [str(status) for status in Status if status.startswith(incomplete)]


def _offered(
    ctx: Any, incomplete: str, names: Callable[[Callable[..., Any]], Iterable[str]]
) -> list[str]:
    try:
        from tenure.cli.connecting import Connection
        from tenure.store.embedded import is_running

        given = ctx.params
        to = Connection(given.get("url"), given.get("tenant"), given.get("token"))
        to.client.settings = replace(to.client.settings, connect_timeout=_WITHIN)
        if to.client.known_url is None and not is_running(to.client.settings.folder):
            return []  # to start a database takes longer than a word is worth
        try:
            found = names(lambda call: to.send(call.within(_WITHIN)))
            return [name for name in found if name.startswith(incomplete)][:_MOST]
        finally:
            to.close()
    except BaseException:  # noqa: BLE001 - a shell that waits for a word has no use for a reason
        return []
