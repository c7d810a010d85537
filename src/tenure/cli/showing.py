"""``tenure job show`` and ``tenure job explain``: one job, as a page and as a reason."""

from collections.abc import Iterator
from typing import Any

from rich.padding import Padding
from rich.text import Text

from tenure.cli.connecting import Connection, connected
from tenure.cli.listing import how_far
from tenure.cli.naming import JobName
from tenure.cli.printing import Printer, ago, bytes_of, clean, compact, exact, lasting
from tenure.cli.tree import tasks_below
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.domain.values import amount, nearest_float, nearest_time
from tenure.store.calls import queries

MOST_TASKS = 200  # in one tree; who has more has `tenure job list --parent`


@connected
def show(to: Connection, job: JobName) -> None:
    """Show all that is known of a job."""
    found = to.send(queries.show(to.job(job)))
    if to.show.json:
        to.show.document(found)
        return
    print_page(to.show, found)
    tree = to.send(queries.list_jobs({"root": found.root_id}, n=1000))
    tasks = tasks_below(to.show, found, tree, MOST_TASKS)
    if tasks is not None:
        _title(to.show, "Tasks")
        to.show.draw(Padding(tasks, (0, 0, 0, 2)), to.show.width)


@connected
def explain(to: Connection, job: JobName) -> None:
    """Say why a job is not running, or not stopping."""
    found = to.send(queries.explain(to.job(job)))
    if to.show.json:
        to.show.document(found)
        return
    colon = ":" if found.reasons else "."
    to.show.say(f"Job {found.job_id} is ", to.show.status(found.status), colon, sep="")
    for reason in found.reasons:
        to.show.say(f"- {reason.sentence}")


def print_page(show: Printer, job: Job) -> None:
    name = f"Job {job.id}" + (f" {clean(job.key)}" if job.key else "")
    show.say(Text(name, "bold"), show.status(job.status))
    for head, said in _facts(job):
        if said:
            show.wrapped(Text(f"  {head:<12}", "dim"), said)
    for title, text in _texts(job):
        _title(show, title)
        for line in text.splitlines():
            show.wrapped(Text("  "), line)
    if job.artifacts:
        _title(show, "Artifacts")
        for it in job.artifacts:
            show.wrapped(Text("  "), f"{it['name']}  {bytes_of(it['size'])}  {it['url']}")
    if job.attempts:
        _title(show, "Attempts")
        for attempt in job.attempts:
            show.wrapped(Text("  "), _attempt(attempt))


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    yield "task", job.task or "none; it ends as its tasks end"
    yield "queue", job.queue + (f", priority {job.priority}" if job.priority else "")
    yield "owner", job.owner
    yield "tags", ", ".join(job.tags or ())
    yield "target", job.target or ""
    yield "parent", str(job.parent_id or "")
    yield "after", ", ".join(f"{need['job_id']} ({need['policy']})" for need in job.needs)
    yield "slots", ", ".join(job.slots)
    yield "attempt", f"{job.attempt} of {job.max_attempts}" + _crashes(job)
    yield "waits for", str(job.waiting or "")
    yield "enqueued", exact(job.created_at)
    if job.state is State.PENDING:
        yield "due", exact(job.run_at)
    yield "started", exact(job.started_at)
    yield "ended", exact(job.completed_at)
    if job.worker_id:
        yield "worker", f"{job.worker_id}, lease ends {ago(job.lease_expires_at) or 'unknown'}"
    yield "progress", _progress(job)
    if job.cancellation_id:
        yield "stopped by", f"{job.cancelled_by}: {job.cancellation_reason} ({job.cancellation_id})"
    yield "spent", _spent(job)
    yield "partials", f"{job.partials} (tenure job partials {job.id})" if job.partials else ""


def _texts(job: Job) -> Iterator[tuple[str, str]]:
    if isinstance(job.args, dict) and job.args:
        yield "Arguments", "\n".join(f"{name} = {compact(it)}" for name, it in job.args.items())
    if job.result is not None:
        yield "Result", compact(job.result)
    if job.error:
        error = job.error if isinstance(job.error, dict) else {"message": str(job.error)}
        kind = f"{error['type']}: " if error.get("type") else ""
        traceback = str(error.get("traceback") or "").rstrip()
        yield "Error", clean("\n".join(filter(None, [f"{kind}{error.get('message')}", traceback])))
    if job.checkpoint:
        yield "Checkpoint", compact(job.checkpoint)
    if isinstance(job.cleanup, dict) and job.cleanup.get("failed"):
        yield "Could not clean up", compact(job.cleanup["failed"])
    if isinstance(job.cleanup, dict) and job.cleanup.get("left_behind"):
        yield "Left behind", "\n".join(map(str, job.cleanup["left_behind"]))


def _crashes(job: Job) -> str:
    return f", {amount(job.crashes, 'crash', 'crashes')}" if job.crashes else ""


def _progress(job: Job) -> str:
    progress = job.progress if isinstance(job.progress, dict) else {}
    return " ".join(filter(None, [how_far(progress), str(progress.get("message") or "")]))


def _spent(job: Job) -> str:
    limits: Any = job.budget or {}
    units = {**dict.fromkeys(limits, 0.0), **job.spent}
    return ", ".join(
        f"{amount:g} {unit}" + (f" of {nearest_float(limits[unit]):g}" if unit in limits else "")
        for unit, amount in units.items()
    )


def _attempt(attempt: Any) -> str:
    error = attempt.get("error") or {}
    said = error.get("message") if isinstance(error, dict) else str(error)
    rung = f" ({attempt['rung']})" if attempt.get("rung") else ""
    took = lasting(_seconds(attempt["started_at"], attempt["ended_at"]))
    ended = f"{attempt['attempt']}. {attempt['outcome']}{rung} after {took}"
    return f"{ended}: {said}" if said else ended


def _seconds(began: str, ended: str) -> float:
    return (nearest_time(ended) - nearest_time(began)).total_seconds()


def _title(show: Printer, title: str) -> None:
    show.say()
    show.say(title, style="bold")
