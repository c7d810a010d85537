"""``tenure job stream``: print what a job puts out, until it ends."""

from collections.abc import Mapping
from contextlib import aclosing

import typer

from tenure.cli.connection import Connection, connected
from tenure.cli.job.list import progress_text
from tenure.cli.job.stop_progress import INTERRUPTED
from tenure.cli.options import JobName, option
from tenure.cli.output import compact
from tenure.control.job_stream import StreamItem
from tenure.control.subscription import Subscription
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Status


@connected
def stream(
    to: Connection,
    job: JobName,
    after: str = option("ID", "Begin after this item or partial result.", default="0"),
) -> None:
    """Print partial results, log lines, progress and status as they come, until the job ends.

    Exit codes: 0 the job completed; 1 it failed or was cancelled. Ctrl-C ends the stream, not the
    job.
    """
    number = to.job(job)
    try:
        last = to.run(_printed(to, number, after))
    except KeyboardInterrupt:
        if not to.out.json:
            to.out.print(f"Job {number} continues.")
        raise typer.Exit(INTERRUPTED) from None
    if last != Status.COMPLETED:
        raise typer.Exit(1)


async def _printed(to: Connection, job: int, after: str) -> JSON:
    """Print the items, and return the last status."""
    status: JSON = None
    async with (
        Subscription(to.client) as subscription,
        aclosing(subscription.stream(to.caller, job, after=after)) as batches,
    ):
        async for batch in batches:
            for item in batch.items:
                if item.kind == "status" and isinstance(item.value, dict):
                    status = item.value["status"]
                if to.out.json:
                    to.out.json_line(item)
                else:
                    to.out.print(f"{item.kind:8} {_text(item)}".rstrip())
    return status


def _text(item: StreamItem) -> str:
    value = item.value if isinstance(item.value, Mapping) else {}
    match item.kind:
        case "log":
            return str(value.get("line"))
        case "progress":
            words = [progress_text(item.value), str(value.get("message") or "")]
        case "status":
            question = value.get("question")
            words = [
                str(value.get("status")),
                f"({value['reason']})" if value.get("reason") else "",
                str(question["text"]) if isinstance(question, Mapping) else "",
            ]
        case _:
            return compact(item.value)
    return " ".join(filter(None, words))
