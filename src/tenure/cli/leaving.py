"""``tenure job artifacts``, ``partials`` and ``log``: what a job has left on its way."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.naming import JobName
from tenure.cli.printing import ago, bytes_of, compact
from tenure.domain.values import nearest_time
from tenure.store.calls import queries

PAGE = 1000

Tail = Annotated[int | None, typer.Option(metavar="N", help="Only the last so many.")]


@connected
def artifacts(to: Connection, job: JobName) -> None:
    """List the files that a job keeps."""
    seen = to.send(queries.show(to.job(job)))
    if to.show.json:
        to.show.document(seen.artifacts)
        return
    to.show.table(
        ("artifact", "size", "kept", "url"),
        (
            (it["name"], bytes_of(it["size"]), ago(nearest_time(it["created_at"])), it["url"])
            for it in seen.artifacts
        ),
        f"job {seen.id} has no artifacts",
    )


@connected
def partials(to: Connection, job: JobName, tail: Tail = None) -> None:
    """Print the partial results of a job, oldest first; they outlive every kind of end."""
    chosen = to.send(queries.show(to.job(job))).id
    for partial in _last(_kept(to, chosen, "partials"), tail):
        if to.show.json:
            to.show.line(partial)
        else:
            to.show.say(compact(partial["value"]))


@connected
def log(to: Connection, job: JobName, tail: Tail = None) -> None:
    """Print what a job has written and logged, oldest first."""
    chosen = to.send(queries.show(to.job(job))).id
    for line in _last(_kept(to, chosen, "logs"), tail):
        if to.show.json:
            to.show.line(line)
        else:
            at = nearest_time(line["at"])
            to.show.say(f"{at:%H:%M:%S} {line['level']:<7} {line['line']}")


def _kept(to: Connection, job: int, kind: Literal["partials", "logs"]) -> Iterator[dict[str, Any]]:
    above = 0
    while True:
        page = to.send(queries.job_output(job, kind, above=above, n=PAGE))
        yield from page
        if len(page) < PAGE:
            return
        above = page[-1]["id"]


def _last(things: Iterator[dict[str, Any]], n: int | None) -> Iterator[dict[str, Any]]:
    if n is None:
        return things
    from collections import deque

    return iter(deque(things, maxlen=max(n, 0)))
