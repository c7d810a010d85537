"""A running job's stacks and runners, the output of a job, and what jobs left open."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from tenure.cli.connection import Connection, connected
from tenure.cli.options import JobName, Limit, Tail, option
from tenure.cli.output import ago, compact
from tenure.cli.parsing import length
from tenure.control.inspection import PATIENCE
from tenure.control.inspection import inspect as inspect_job
from tenure.domain.inspection import Inspection
from tenure.domain.values import nearest_time, size_text
from tenure.store.calls import diagnosis, queries

PAGE = 1000


@connected
def stack(
    to: Connection,
    job: JobName,
    timeout: str = option("DURATION", "Maximum time to wait for the worker.", default=PATIENCE),
) -> None:
    """Show the stacks of a running job, and the resources its processes use."""
    found = to.perform(inspect_job(to.job(job), length(timeout, "--timeout")))
    to.out.answer(found, lambda found: _print_stacks(to, found))


def _print_stacks(to: Connection, found: Inspection) -> None:
    to.out.print(f"Job {found.job_id}, seen {ago(found.answered_at)}")
    for note in found.notes:
        to.out.print(f"- {note}")
    for stack in found.stacks:
        to.out.print()
        to.out.print(stack.name, style="bold")
        for line in str(stack).splitlines():
            to.out.print(f"  {line}")
    to.out.print()
    to.out.table(
        ("pid", "name", "cpu", "memory", "state"),
        (
            (it.pid, it.name, f"{it.cpu_seconds:.1f}s", size_text(it.memory), it.state)
            for it in found.processes
        ),
        "None of its processes could be seen.",
    )


@connected
def runners(to: Connection, job: JobName) -> None:
    """List the runners of a job and of the jobs below it."""
    to.out.answer_table(
        to.send(queries.runners(to.job(job))),
        ("runner", "kind", "host", "pid", "jobs", "others", "as of"),
        lambda it: (
            f"{it.runner} (ending)" if it.ending else it.runner or "known at the next heartbeat",
            it.kind,
            it.host,
            it.pid,
            ", ".join(map(str, it.jobs)),
            it.others,
            ago(it.as_of),
        ),
        "the job is not running",
    )


@connected
def artifacts(to: Connection, job: JobName) -> None:
    """List the files that a job has stored."""
    found = to.send(queries.show(to.job(job)))
    to.out.answer_table(
        found.artifacts,
        ("artifact", "size", "stored", "url"),
        lambda it: (
            it["name"],
            size_text(it["size"]),
            ago(nearest_time(it["created_at"])),
            it["url"],
        ),
        f"job {found.id} has no artifacts",
    )


@connected
def partials(to: Connection, job: JobName, tail: Tail = None) -> None:
    """Print the partial results of a job, oldest first; they are kept however it ends."""
    for partial in _output(to, job, "partials", tail):
        if to.out.json:
            to.out.json_line(partial)
        else:
            to.out.print(compact(partial["value"]))


@connected
def log(to: Connection, job: JobName, tail: Tail = None) -> None:
    """Print the log and the output of a job, oldest first."""
    for line in _output(to, job, "logs", tail):
        if to.out.json:
            to.out.json_line(line)
        else:
            at = nearest_time(line["at"])
            to.out.print(f"{at:%H:%M:%S} {line['level']:<7} {line['line']}")


@connected
def leaks(to: Connection, limit: Limit = 50) -> None:
    """List ended jobs that left a resource open, newest first, with what is still open."""
    to.out.answer_table(
        to.send(diagnosis.leaks(limit)),
        ("job", "task", "owner", "ended", "still open"),
        lambda it: (
            *(it.job_id, it.task, it.owner, ago(it.ended_at)),
            ", ".join(map(_resource, it.resources)),
        ),
        "nothing is left open",
    )


def _resource(left_open: Any) -> str:
    if isinstance(left_open, dict):
        return f"{left_open.get('name', '')}: {left_open.get('error', '')}"
    return str(left_open)


def _output(
    to: Connection, job: str, kind: Literal["partials", "logs"], tail: int | None
) -> Iterable[dict[str, Any]]:
    rows = _pages(to, to.send(queries.show(to.job(job))).id, kind)
    return rows if tail is None else deque(rows, maxlen=max(tail, 0))


def _pages(to: Connection, job: int, kind: Literal["partials", "logs"]) -> Iterator[dict[str, Any]]:
    above = 0
    while True:
        page = to.send(queries.job_output(job, kind, above=above, n=PAGE))
        yield from page
        if len(page) < PAGE:
            return
        above = page[-1]["id"]
