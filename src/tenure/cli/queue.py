"""``tenure queue``: list, pause and resume queues."""

from tenure.cli.connection import Connection, action
from tenure.cli.options import New, QueueName, Reason
from tenure.cli.pause import pause_subject, pauses_of, reason_of, resume_subject
from tenure.cli.program import group
from tenure.domain.duration import age
from tenure.store.calls import queries

commands = group("queue")

STATUSES = (
    *("queued", "running", "scheduled", "waiting", "blocked", "retrying", "paused"),
    *("completed", "failed", "cancelled"),
)


@action(commands, "list", "tenure queue list", "tenure queue list --json")
def list_queues(to: Connection) -> None:
    """List queues, and how many jobs each has."""
    queues = to.send(queries.queues())
    used = {status for queue in queues.values() for status in queue.by_status}
    paused = pauses_of(to, "queue")
    heads = [status for status in STATUSES if status in used]
    to.out.answer(
        queues,
        lambda _: to.out.table(
            ("queue", *heads, "oldest", ""),
            (
                (
                    name,
                    *(queue.by_status.get(head) for head in heads),
                    None if queue.oldest_seconds is None else age(queue.oldest_seconds),
                    to.out.status("paused", reason_of(paused[name])) if name in paused else None,
                )
                for name, queue in queues.items()
            ),
            "no queues: no job has been enqueued yet",
        ),
    )


@action(commands, "pause", 'tenure queue pause crawl --reason "the site is down"')
def pause(to: Connection, queue: QueueName, reason: Reason = None, new: New = False) -> None:
    """Start no more jobs of a queue until it is resumed; running jobs continue."""
    pause_subject(to, to.caller, "queue", queue, reason, is_new=new)


@action(commands, "resume", "tenure queue resume crawl")
def resume(to: Connection, queue: QueueName, reason: Reason = None) -> None:
    """Start jobs of a paused queue again."""
    resume_subject(to, to.caller, "queue", queue, reason)
