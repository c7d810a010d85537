"""Operations on many jobs (``tenure job cancel --where``), with a preview and progress."""

from collections.abc import Mapping, Sequence
from typing import Any

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
from tenure.control.bulk import WORDS, bulk_stop, carried_on, consequence
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.store.call import Call
from tenure.store.calls import policy_calls, queries
from tenure.store.policy_results import Bulk, BulkPreview

BAR = 40  # columns


def stop_where(
    to: Connection,
    intent: Intent,
    where: Sequence[str],
    how: Mapping[str, Any],
    *,
    yes: bool,
    wait: bool,
) -> None:
    """Count the jobs, ask for confirmation, and stop them; each stop has its own record."""
    wanted, force, grace = filters(where), bool(how.get("force")), how.get("grace")
    begin = bulk_stop(wanted, intent, **how)
    preview = to.send(queries.bulk_preview(wanted, intent, force=force))
    warning = consequence(preview, BulkIntent(intent), force=force, grace=grace)
    _carry_out(to, begin, preview, warning, yes=yes, wait=wait)


def resume_where(
    to: Connection, where: Sequence[str], reason: str | None, *, fresh: bool, yes: bool, wait: bool
) -> None:
    wanted = filters(where)
    preview = to.send(queries.bulk_preview(wanted, BulkIntent.RESUME))
    warning = consequence(preview, BulkIntent.RESUME, fresh=fresh)
    begin = policy_calls.bulk_resume(wanted, reason, fresh=fresh)
    _carry_out(to, begin, preview, warning, yes=yes, wait=wait)


def rerun_where(
    to: Connection, where: Sequence[str], reason: str | None, *, yes: bool, wait: bool
) -> None:
    wanted = filters(where)
    preview = to.send(queries.bulk_preview(wanted, BulkIntent.RERUN))
    warning = consequence(preview, BulkIntent.RERUN)
    _carry_out(to, policy_calls.bulk_rerun(wanted, reason), preview, warning, yes=yes, wait=wait)


def _carry_out(
    to: Connection, begin: Call[Bulk], preview: BulkPreview, warning: str, *, yes: bool, wait: bool
) -> None:
    if not to.out.json:
        _print_preview(to, preview)
    if not preview.reaches:
        if to.out.json:
            to.out.json_line(preview)
        return
    to.out.confirm(warning, yes=yes)
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
