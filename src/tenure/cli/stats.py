"""``tenure stats``: how many jobs there are and how they are, and what ended lately."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.printing import Printer, lasting
from tenure.cli.reading import length
from tenure.domain.duration import age, in_words
from tenure.domain.lifecycle import Status
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.results import Statistics
from tenure.store.rollups import EndCounts, History

EXAMPLES = (
    "tenure stats",
    "tenure stats --last 24h",
    "tenure stats --last 6h --queue crawl --json",
)

_BARS = " ▁▂▃▄▅▆▇█"


@connected
def stats(
    to: Connection,
    last: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Instead: what ended, 15m to 24h back.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --last: only jobs of this queue.")
    ] = None,
) -> None:
    """Count jobs by status, and what went wrong on the way; or what ended lately."""
    if last is None and queue is not None:
        raise InputRefused("--queue is for what ended; say how far back with --last")
    seen: Statistics | History = (
        to.send(queries.statistics())
        if last is None
        else to.send(queries.history(length(last, "--last"), queue=queue))
    )
    if to.show.json:
        to.show.document(seen)
    elif isinstance(seen, History):
        _show_history(to.show, seen)
    else:
        _show_statistics(to.show, seen)


def _show_statistics(show: Printer, seen: Statistics) -> None:
    counted = [(status, seen.by_status[status]) for status in Status if status in seen.by_status]
    show.table(
        ("status", "jobs"),
        ((show.status(status), f"{count:,}") for status, count in counted),
        "no jobs",
    )
    waits = [it.oldest_seconds for it in seen.queues.values() if it.oldest_seconds is not None]
    show.say()
    show.say(f"{seen.total:,} jobs in {len(seen.queues)} queues")
    if waits:
        show.say(f"the longest wait of a ready job: {age(max(waits))}")
    show.say(
        f"{seen.recovered:,} recovered from dead workers, {seen.refused:,} late writes refused"
    )


def _show_history(show: Printer, seen: History) -> None:
    heads = ("queue", "completed", "failed", "cancelled", "wait p50", "p95", "run p50", "p95")
    rows = [(it.queue, *_cells(it)) for it in seen.queues]
    if len(rows) > 1:
        rows.append(("all", *_cells(seen.total)))
    show.table(heads, rows, "nothing ended")
    if rows and not show.is_ascii:
        step = in_words(timedelta(seconds=seen.step_seconds))
        show.say()
        show.say(f"completed {_line([it.completed for it in seen.buckets])}")
        show.say(f"failed    {_line([it.failed for it in seen.buckets])}  each sign is {step}")


def _cells(ends: EndCounts) -> tuple[str, ...]:
    times = (ends.wait_p50, ends.wait_p95, ends.run_p50, ends.run_p95)
    return (
        *(f"{count:,}" for count in (ends.completed, ends.failed, ends.cancelled)),
        *("" if time is None else lasting(time) for time in times),
    )


def _line(counts: Sequence[int]) -> str:
    """A bar for each count; what is not nothing can be seen."""
    most = max(counts)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most) if count else 0] for count in counts)
