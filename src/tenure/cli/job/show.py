"""``tenure job show`` and ``tenure job explain``: one job, and why it is not running."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rich.padding import Padding
from rich.text import Text
from rich.tree import Tree

from tenure.cli.connection import Connection, connected
from tenure.cli.job.list import progress_text
from tenure.cli.job.steps import step_line
from tenure.cli.options import JobName
from tenure.cli.output import (
    Printer,
    ago,
    clean,
    compact,
    duration_text,
    exact_time,
    shown_result,
)
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.domain.values import amount, nearest_float, nearest_time, size_text
from tenure.store.calls import queries, step_calls
from tenure.store.results import Explanation

MAX_STEPS = 50
MAX_CHILDREN = 200  # in one tree; `tenure job list --parent` shows more


@connected
def show(to: Connection, job: JobName) -> None:
    """Show everything that is known about a job."""
    to.out.answer(to.send(queries.show(to.job(job))), lambda job: _print_job(to, job))


def _print_job(to: Connection, job: Job) -> None:
    print_page(to.out, job)
    if job.steps:
        _title(to.out, "Steps")
        for step in to.send(step_calls.steps(job.id, n=MAX_STEPS)):
            to.out.wrapped(Text("  "), step_line(step))
        if job.steps > MAX_STEPS:
            to.out.print(f"  and {job.steps - MAX_STEPS} more: tenure job steps {job.id}")
    jobs = to.send(queries.list_jobs({"root": job.root_id}, n=1000))
    tree = _tree_below(to.out, job, jobs)
    if tree is not None:
        _title(to.out, "Children")
        to.out.draw(Padding(tree, (0, 0, 0, 2)), to.out.width)


@connected
def explain(to: Connection, job: JobName) -> None:
    """Explain why a job is not running, or not stopping."""
    to.out.answer(
        to.send(queries.explain(to.job(job))), lambda found: _print_explanation(to, found)
    )


def _print_explanation(to: Connection, found: Explanation) -> None:
    colon = ":" if found.reasons else "."
    verb = "has" if found.status == "failed" else "is"
    to.out.print(f"Job {found.job_id} {verb} ", to.out.status(found.status), colon, sep="")
    for reason in found.reasons:
        to.out.print(f"- {reason.sentence}")


def print_page(out: Printer, job: Job) -> None:
    name = f"Job {job.id}" + (f" {clean(job.key)}" if job.key else "")
    out.print(Text(name, "bold"), out.status(job.status))
    for head, fact in _facts(job):
        if fact:
            out.wrapped(Text(f"  {head:<12}", "dim"), fact)
    for title, text in _texts(job):
        _title(out, title)
        for line in text.splitlines():
            out.wrapped(Text("  "), line)
    if job.artifacts:
        _title(out, "Artifacts")
        for it in job.artifacts:
            out.wrapped(Text("  "), f"{it['name']}  {size_text(it['size'])}  {it['url']}")
    if job.attempts:
        _title(out, "Attempts")
        for attempt in job.attempts:
            out.wrapped(Text("  "), _attempt(attempt))


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    yield "task", job.task or "none; it ends when its children have ended"
    yield "queue", job.queue + (f", priority {job.priority}" if job.priority else "")
    yield "owner", job.owner
    yield "tags", ", ".join(job.tags or ())
    yield "target", job.target or ""
    yield "parent", str(job.parent_id or "")
    yield "after", ", ".join(f"{need['job_id']} ({need['policy']})" for need in job.needs)
    yield "slots", ", ".join(job.slots)
    yield "attempt", f"{job.attempt} of {job.max_attempts}" + _crashes(job)
    yield "waits for", str(job.waiting or "")
    yield "enqueued", exact_time(job.created_at)
    if job.state is State.PENDING:
        yield "due", exact_time(job.run_at)
    yield "started", exact_time(job.started_at)
    yield "ended", exact_time(job.completed_at)
    if job.worker_id:
        yield "worker", f"{job.worker_id}, lease ends {ago(job.lease_expires_at) or 'unknown'}"
    yield "progress", _progress(job)
    if job.cancellation_id:
        yield "stopped by", f"{job.cancelled_by}: {job.cancellation_reason} ({job.cancellation_id})"
    elif job.pause_reason:
        yield "paused", job.pause_reason
    if job.checkpoints:
        yield "checkpoints", f"{job.checkpoints:,}, the last {ago(job.checkpoint_times[-1])}"
    yield "spent", _spent(job)
    yield "partials", f"{job.partials} (tenure job partials {job.id})" if job.partials else ""


def _texts(job: Job) -> Iterator[tuple[str, str]]:
    if isinstance(job.args, dict) and job.args:
        yield "Arguments", "\n".join(f"{name} = {compact(it)}" for name, it in job.args.items())
    if (result := shown_result(job)) is not None:
        yield "Result", result
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
    return " ".join(filter(None, [progress_text(progress), str(progress.get("message") or "")]))


def _spent(job: Job) -> str:
    limits: Any = job.budget or {}
    units = {**dict.fromkeys(limits, 0.0), **job.spent}
    return ", ".join(
        f"{amount:g} {unit}" + (f" of {nearest_float(limits[unit]):g}" if unit in limits else "")
        for unit, amount in units.items()
    )


def _attempt(attempt: Any) -> str:
    error = attempt.get("error") or {}
    message = error.get("message") if isinstance(error, dict) else str(error)
    rung = f" ({attempt['rung']})" if attempt.get("rung") else ""
    took = duration_text(_seconds(attempt["started_at"], attempt["ended_at"]))
    outcome = "failed" if attempt["outcome"] == "retry" else attempt["outcome"]
    ended = f"{attempt['attempt']}. {outcome}{rung} after {took}"
    return f"{ended}: {message}" if message else ended


def _seconds(began: str, ended: str) -> float:
    return (nearest_time(ended) - nearest_time(began)).total_seconds()


def _title(out: Printer, title: str) -> None:
    out.print()
    out.print(title, style="bold")


def _tree_below(out: Printer, job: Job, jobs: Sequence[Job]) -> Tree | None:
    """Return the children of a job as a tree, from all jobs of its root; None without children."""
    children: dict[int | None, list[Job]] = defaultdict(list)
    for each in sorted(jobs, key=lambda each: each.id):
        children[each.parent_id].append(each)
    if not children[job.id]:
        return None
    tree = Tree("", hide_root=True, guide_style="dim")
    places = [(tree, child) for child in reversed(children[job.id])]
    shown = 0
    while places:
        above, child = places.pop()
        if shown == MAX_CHILDREN:
            tree.add(Text(f"and {len(places) + 1} or more", "dim"))
            break
        shown += 1
        place = above.add(_line(out, child))
        places += [(place, below) for below in reversed(children[child.id])]
    return tree


def _line(out: Printer, job: Job) -> Text:
    name = f"{job.id} {job.key or job.task or ''}".strip()
    far = progress_text(job.progress) if job.worker_id else ""
    return Text.assemble(clean(name), "  ", out.status(job.status), f"  {far}" if far else "")
