"""``tenure job cancel --where`` and its like: many jobs at once, counted first; and how far."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tenure.cli.connecting import Connection, connected
from tenure.cli.listing import refuse_limit
from tenure.cli.printing import ago, compact
from tenure.cli.reading import filters
from tenure.cli.stops import INTERRUPTED, NOT_CONFIRMED
from tenure.control.bulk import WORDS, bulk_stop, carried_on, consequence
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.store.call import Call
from tenure.store.calls import policy_calls, queries
from tenure.store.policy_results import Bulk, BulkPreview

BAR = 40  # columns


Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Until it is over, or leave it to the workers.")
]


def stop_where(
    to: Connection,
    intent: Intent,
    where: Sequence[str],
    how: Mapping[str, Any],
    *,
    yes: bool,
    wait: bool,
) -> None:
    """Count the jobs, ask, and stop them; each stop is on record like any other."""
    wanted, force, grace = filters(where), bool(how.get("force")), how.get("grace")
    begin = bulk_stop(wanted, intent, **how)
    preview = to.send(queries.bulk_preview(wanted, intent, force=force))
    said = consequence(preview, BulkIntent(intent), force=force, grace=grace)
    _carry_out(to, begin, preview, said, yes=yes, wait=wait)


def resume_where(
    to: Connection, where: Sequence[str], reason: str | None, *, fresh: bool, yes: bool, wait: bool
) -> None:
    wanted = filters(where)
    preview = to.send(queries.bulk_preview(wanted, BulkIntent.RESUME))
    said = consequence(preview, BulkIntent.RESUME, fresh=fresh)
    begin = policy_calls.bulk_resume(wanted, reason, fresh=fresh)
    _carry_out(to, begin, preview, said, yes=yes, wait=wait)


def rerun_where(
    to: Connection, where: Sequence[str], reason: str | None, *, yes: bool, wait: bool
) -> None:
    wanted = filters(where)
    preview = to.send(queries.bulk_preview(wanted, BulkIntent.RERUN))
    said = consequence(preview, BulkIntent.RERUN)
    _carry_out(to, policy_calls.bulk_rerun(wanted, reason), preview, said, yes=yes, wait=wait)


def _carry_out(
    to: Connection, begin: Call[Bulk], preview: BulkPreview, said: str, *, yes: bool, wait: bool
) -> None:
    if not to.show.json:
        _show_preview(to, preview)
    if not preview.reaches:
        if to.show.json:
            to.show.line(preview)
        return
    to.show.confirm(said, yes=yes)
    bulk = to.send(begin)
    if wait:
        bulk = _carried_out(to, bulk)
    elif to.show.json:
        to.show.line(bulk)
    if not to.show.json:
        _tell(to, bulk)
    if bulk.status in ("partial", "failed"):
        raise typer.Exit(NOT_CONFIRMED)


@connected
def bulks(
    to: Connection,
    limit: Annotated[int, typer.Option(metavar="N", help="The most to show; 10 else.")] = 10,
) -> None:
    """List operations on many jobs at once, newest first."""
    refuse_limit(limit)
    found = to.send(queries.bulks(limit))
    if to.show.json:
        to.show.document(found)
        return
    to.show.table(
        ("bulk", "intent", "where", "status", "done", "refused", "failed", "by", "asked"),
        (
            (
                it.id,
                it.intent,
                " ".join(f"{name}={compact(value)}" for name, value in it.filter.items()),
                to.show.status(it.status),
                f"{it.done:,} of {it.total:,}",
                it.refused or None,
                it.failed or None,
                it.initiated_by,
                ago(it.created_at),
            )
            for it in found
        ),
        "no bulk operations",
    )


def _show_preview(to: Connection, preview: BulkPreview) -> None:
    if not preview.total:
        to.show.say("No job matches.")
        return
    to.show.table(
        ("status", "jobs"),
        (
            (to.show.status(status), f"{count:,}")
            for status, count in sorted(preview.by_status.items())
        ),
        "",
    )
    if preview.untouched:
        to.show.say(
            f"{preview.untouched:,} of them are left as they are: their status does not allow it."
        )
    if preview.others:
        to.show.say(f"{preview.others:,} of them belong to others and are left.")


def _carried_out(to: Connection, bulk: Bulk) -> Bulk:
    """Carry it on until it is over; the workers do so too."""
    try:
        if to.show.json:
            return to.perform(carried_on(bulk, to.show.line))
        if not to.show.may_move:
            return to.perform(carried_on(bulk))
        with Live(console=to.show.console, transient=True, redirect_stdout=False) as live:
            return to.perform(carried_on(bulk, lambda it: live.update(_drawn(it), refresh=True)))
    except KeyboardInterrupt:
        if not to.show.json:
            to.show.say(f"The workers carry on bulk {bulk.intent} {bulk.id}. See tenure job bulks")
        raise typer.Exit(INTERRUPTED) from None


def _drawn(bulk: Bulk) -> Table:
    over = bulk.done + bulk.refused + bulk.failed
    line = Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=max(bulk.total, 1), completed=over, width=BAR, complete_style="cyan")
    line.add_row(Text(WORDS[bulk.intent].doing), bar, Text(f"{over:,} of {bulk.total:,}"))
    return line


def _tell(to: Connection, bulk: Bulk) -> None:
    left = [
        f"{count:,} {what}"
        for count, what in ((bulk.refused, "belong to others"), (bulk.failed, "could not be"))
        if count
    ]
    done = f"{bulk.done:,} of {bulk.total:,} jobs were {WORDS[bulk.intent].done}."
    to.show.say(f"Bulk {bulk.intent} {bulk.id}: {done}")
    if left:
        to.show.say(f"Of the rest, {' and '.join(left)}.")
    if bulk.error:
        to.show.say(bulk.error)
    to.show.say("Status: ", to.show.status(bulk.status, bulk.status.upper()), sep="")
