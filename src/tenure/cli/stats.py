"""``tenure stats``: numbers of jobs by status, and of jobs that ended recently."""

from collections.abc import Sequence
from datetime import timedelta

from tenure.cli.connection import Connection, connected
from tenure.cli.options import flag, option
from tenure.cli.output import Printer, duration_text
from tenure.cli.parsing import length
from tenure.domain.duration import age, in_words
from tenure.domain.lifecycle import Status
from tenure.errors import InputRefused
from tenure.store.calls import queries, task_calls
from tenure.store.results import Statistics
from tenure.store.rollups import EndCounts, History, TaskRuns

EXAMPLES = (
    "tenure stats",
    "tenure stats --last 24h",
    "tenure stats --last 6h --queue crawl --json",
    "tenure stats --tasks",
)

_BARS = " ▁▂▃▄▅▆▇█"


@connected
def stats(
    to: Connection,
    last: str | None = option("DURATION", "Count jobs that ended in this time: 15m to 24h."),
    queue: str | None = option("NAME", "Only jobs of this queue (with --last)."),
    tasks: bool = flag("--tasks", "Count how the newest jobs of each task ended."),
) -> None:
    """Count jobs by status, jobs that ended recently, or the newest jobs of tasks."""
    if tasks and (last or queue):
        raise InputRefused("--tasks counts the newest jobs; give it without --last and --queue")
    if last is None and queue is not None:
        raise InputRefused("--queue needs --last")
    if tasks:
        runs = to.send(task_calls.task_runs())
        heads = ("task", "jobs", "completed", "failed", "cancelled", "failed %", "run p50", "p95")
        to.out.answer_table(runs, heads, _run_cells, "no jobs")
    elif last is None:
        to.out.answer(to.send(queries.statistics()), lambda seen: _print_statistics(to.out, seen))
    else:
        history = to.send(queries.history(length(last, "--last"), queue=queue))
        to.out.answer(history, lambda seen: _print_history(to.out, seen))


def _print_statistics(out: Printer, seen: Statistics) -> None:
    counted = [(status, seen.by_status[status]) for status in Status if status in seen.by_status]
    out.table(
        ("status", "jobs"),
        ((out.status(status), f"{count:,}") for status, count in counted),
        "no jobs",
    )
    waits = [it.oldest_seconds for it in seen.queues.values() if it.oldest_seconds is not None]
    out.print()
    out.print(f"{seen.total:,} jobs in {len(seen.queues)} queues")
    if waits:
        out.print(f"longest wait of a ready job: {age(max(waits))}")
    out.print(
        f"{seen.recovered:,} recovered from dead workers, {seen.refused:,} late writes refused"
    )


def _print_history(out: Printer, seen: History) -> None:
    heads = ("queue", "completed", "failed", "cancelled", "wait p50", "p95", "run p50", "p95")
    rows = [(it.queue, *_cells(it)) for it in seen.queues]
    if len(rows) > 1:
        rows.append(("all", *_cells(seen.total)))
    out.table(heads, rows, "no job ended")
    if rows and not out.is_ascii:
        step = in_words(timedelta(seconds=seen.step_seconds))
        out.print()
        out.print(f"completed {_line([it.completed for it in seen.buckets])}")
        out.print(f"failed    {_line([it.failed for it in seen.buckets])}  one bar per {step}")


def _cells(ends: EndCounts) -> tuple[str, ...]:
    times = (ends.wait_p50, ends.wait_p95, ends.run_p50, ends.run_p95)
    return (
        *(f"{count:,}" for count in (ends.completed, ends.failed, ends.cancelled)),
        *("" if time is None else duration_text(time) for time in times),
    )


def _run_cells(runs: TaskRuns) -> tuple[str, ...]:
    counts = (runs.jobs, runs.completed, runs.failed, runs.cancelled)
    rate, times = runs.failure_rate, (runs.run_time(0.5), runs.run_time(0.95))
    return (
        runs.task,
        *(f"{count:,}" for count in counts),
        "" if rate is None else f"{100 * rate:.1f}",
        *("" if time is None else duration_text(time) for time in times),
    )


def _line(counts: Sequence[int]) -> str:
    """Return a bar for each count; a count above zero is always visible."""
    peak = max(counts)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // peak) if count else 0] for count in counts)
