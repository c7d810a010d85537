"""Operations on many jobs (``tenure job cancel --where``), with a preview and progress."""

from collections.abc import Mapping, Sequence
from typing import Unpack

import typer
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tenure.cli.connection import Connection, connected
from tenure.cli.job.stop_progress import INTERRUPTED, NOT_CONFIRMED
from tenure.cli.options import Limit
from tenure.cli.output import ago, pairs
from tenure.cli.parsing import filters
from tenure.control.bulk import WORDS, bulk_call, carried_on, consequence
from tenure.domain.duration import duration
from tenure.domain.job import JSON
from tenure.domain.lifecycle import BulkIntent
from tenure.domain.stop_options import StopOptions
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.policy_results import Bulk, BulkPreview

BAR = 40  # columns


def filter_of_many(
    to: Connection, jobs: Sequence[str] | None, where: Sequence[str] | None
) -> dict[str, JSON] | None:
    """Return the filter for ``--where``, or for several named jobs; None for one job."""
    if where:
        if jobs:
            raise InputRefused("--where chooses the jobs; leave out the job")
        return filters(where)
    return {"id": [to.job(job) for job in jobs]} if jobs and len(jobs) > 1 else None


def change_many(
    to: Connection,
    intent: BulkIntent,
    wanted: Mapping[str, JSON],
    reason: str | None,
    *,
    yes: bool,
    wait: bool,
    fresh: bool = False,
    **stop: Unpack[StopOptions],
) -> None:
    """Count the jobs, ask for confirmation, and stop, resume or rerun them."""
    force, grace = bool(stop.get("force")), stop.get("grace")
    begin = bulk_call(wanted, intent, reason, fresh=fresh, **stop)
    preview = to.send(queries.bulk_preview(wanted, intent, force=force))
    if not to.out.json:
        _print_preview(to, preview)
    if not preview.reaches:
        if to.out.json:
            to.out.json_line(preview)
        return
    within = None if grace is None else duration(grace)
    to.out.confirm(consequence(preview, intent, force=force, grace=within, fresh=fresh), yes=yes)
    bulk = to.send(begin)
    if wait:
        bulk = _finish(to, bulk)
    elif to.out.json:
        to.out.json_line(bulk)
    if not to.out.json:
        _print_result(to, bulk)
    if bulk.status in ("partial", "failed"):
        raise typer.Exit(NOT_CONFIRMED)


@connected
def bulks(to: Connection, limit: Limit = 10) -> None:
    """List operations on many jobs, newest first."""
    to.out.answer_table(
        to.send(queries.bulks(limit)),
        ("bulk", "intent", "where", "status", "done", "refused", "failed", "by", "requested"),
        lambda bulk: (
            bulk.id,
            bulk.intent,
            pairs(bulk.filter),
            to.out.status(bulk.status),
            f"{bulk.done:,} of {bulk.total:,}",
            bulk.refused or None,
            bulk.failed or None,
            bulk.initiated_by,
            ago(bulk.created_at),
        ),
        "no bulk operations",
    )


def _print_preview(to: Connection, preview: BulkPreview) -> None:
    if not preview.total:
        to.out.print("No job matches.")
        return
    to.out.table(
        ("status", "jobs"),
        (
            (to.out.status(status), f"{count:,}")
            for status, count in sorted(preview.by_status.items())
        ),
        "",
    )
    if preview.untouched:
        to.out.print(
            f"{preview.untouched:,} of them stay unchanged: their status does not allow it."
        )
    if preview.others:
        to.out.print(f"{preview.others:,} of them belong to others and stay unchanged.")


def _finish(to: Connection, bulk: Bulk) -> Bulk:
    """Carry on the operation until it is done, as workers do too."""
    try:
        if to.out.json:
            return to.perform(carried_on(bulk, to.out.json_line))
        if not to.out.may_move:
            return to.perform(carried_on(bulk))
        with Live(console=to.out.console, transient=True, redirect_stdout=False) as live:
            return to.perform(carried_on(bulk, lambda bulk: live.update(_bar(bulk), refresh=True)))
    except KeyboardInterrupt:
        if not to.out.json:
            to.out.print(f"Workers continue bulk {bulk.intent} {bulk.id}. See tenure job bulks")
        raise typer.Exit(INTERRUPTED) from None


def _bar(bulk: Bulk) -> Table:
    ended = bulk.done + bulk.refused + bulk.failed
    line = Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=max(bulk.total, 1), completed=ended, width=BAR, complete_style="cyan")
    line.add_row(Text(WORDS[bulk.intent].doing), bar, Text(f"{ended:,} of {bulk.total:,}"))
    return line


def _print_result(to: Connection, bulk: Bulk) -> None:
    left = [
        f"{count:,} {what}"
        for count, what in ((bulk.refused, "belong to others"), (bulk.failed, "failed"))
        if count
    ]
    done = f"{bulk.done:,} of {bulk.total:,} jobs were {WORDS[bulk.intent].done}."
    to.out.print(f"Bulk {bulk.intent} {bulk.id}: {done}")
    if left:
        to.out.print(f"Of the rest, {' and '.join(left)}.")
    if bulk.error:
        to.out.print(bulk.error)
    to.out.print("Status: ", to.out.status(bulk.status, bulk.status.upper()), sep="")
