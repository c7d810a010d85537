"""``tenure queue``: what waits where, and for how long."""

from typing import Annotated

import typer

from tenure.cli.completing import complete_queues
from tenure.cli.connecting import Connection, connected
from tenure.cli.grouping import command, group
from tenure.cli.naming import New, Why
from tenure.cli.pausing import pause_it, unpause_it
from tenure.domain.duration import age
from tenure.store.calls import queries

commands = group(
    "queue",
    "Look at queues, hold them up, let them go on.",
    "tenure queue list",
    'tenure queue pause crawl --reason "the site is down"',
)

Name = Annotated[
    str,
    typer.Argument(metavar="QUEUE", help="The name of a queue.", autocompletion=complete_queues),
]
LIVE = ("queued", "running", "scheduled", "waiting", "blocked", "retrying", "paused")
OVER = ("completed", "failed", "cancelled")


@command(commands, "list", "tenure queue list", "tenure queue list --json")
@connected
def list_queues(to: Connection) -> None:
    """List queues, with what is in each."""
    queues = to.send(queries.queues())
    if to.show.json:
        to.show.document(queues)
        return
    heads = [
        status
        for status in (*LIVE, *OVER)
        if any(status in queue.by_status for queue in queues.values())
    ]
    to.show.table(
        ("queue", *heads, "oldest", ""),
        (
            (
                name,
                *(queue.by_status.get(head) for head in heads),
                None if queue.oldest_seconds is None else age(queue.oldest_seconds),
                to.show.status("paused") if queue.paused else None,
            )
            for name, queue in queues.items()
        ),
        "no queues: nothing was ever enqueued",
    )


@command(commands, "pause", 'tenure queue pause crawl --reason "the site is down"')
@connected
def pause(to: Connection, queue: Name, reason: Why = None, new: New = False) -> None:
    """Start nothing of a queue until it is resumed; what runs goes on."""
    pause_it(to, to.caller, "queue", queue, reason, is_new=new)


@command(commands, "resume", "tenure queue resume crawl")
@connected
def resume(to: Connection, queue: Name, reason: Why = None) -> None:
    """Let a paused queue go on."""
    unpause_it(to, to.caller, "queue", queue, reason)
