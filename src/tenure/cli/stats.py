"""``tenure stats``: how many jobs there are, and how they are."""

from tenure.cli.connecting import Connection, connected
from tenure.domain.amount import amount
from tenure.domain.duration import age
from tenure.domain.lifecycle import Status
from tenure.store.calls import looking

EXAMPLES = ("tenure stats", "tenure stats --json")


@connected
def stats(to: Connection) -> None:
    """Count jobs by status, and what went wrong on the way."""
    seen = to.send(looking.statistics())
    if to.show.json:
        to.show.document(seen)
        return
    counted = [(status, seen.by_status[status]) for status in Status if status in seen.by_status]
    to.show.table(
        ("status", "jobs"),
        ((to.show.status(status), f"{count:,}") for status, count in counted),
        "no jobs",
    )
    waits = [it.oldest_seconds for it in seen.queues.values() if it.oldest_seconds is not None]
    to.show.say()
    to.show.say(f"{amount(seen.total, 'job')} in {amount(len(seen.queues), 'queue')}")
    if waits:
        to.show.say(f"the longest wait of a ready job: {age(max(waits))}")
    to.show.say(
        f"{seen.recovered:,} recovered from dead workers, {seen.refused:,} late writes refused"
    )
