"""Jobs as rows of the list: children below their parent, and what a row says of its job."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Reason, State, Status
from tenure.store.job_rows import MAX_CHILDREN, JobRow, JobRows
from tenure.web.dashboard.formatting import ago

_MAX_PREVIEW = 160  # characters
_MAX_DEPTH = 3  # that is drawn
_WAITS: Mapping[Reason, str] = {
    Reason.UNQUEUED: "created, but not queued yet",
    Reason.TASK: "no worker has announced its task yet",
    Reason.DEPENDENCIES: "waits for the jobs it needs",
    Reason.TARGET: "waits for its target",
    Reason.LIMIT: "waits for a limit",
    Reason.TASKS: "waits for its children",
    Reason.CHILDREN: "waits for its children",
    Reason.EVENT: "waits for an event",
    Reason.ANSWER: "waits for an answer",
}
_CHILD_STATES: Mapping[State, tuple[str, str]] = {  # as they are named, and their tone
    State.FAILED: ("failed", "bad"),
    State.RUNNING: ("running", "busy"),
    State.PENDING: ("waiting", "plain"),
    State.PAUSED: ("paused", "care"),
    State.COMPLETED: ("done", "good"),
    State.CANCELLED: ("cancelled", "plain"),
}


class Note(NamedTuple):
    """Why a job stands where it stands."""

    tone: str
    text: str


class Children(NamedTuple):
    """The number of children in a state."""

    state: State
    name: str
    tone: str
    n: int


@dataclass
class TreeRow:
    """A job with what the list shows of it."""

    job: JobRow
    depth: int
    now: datetime
    is_open: bool = False
    below: list["TreeRow"] = field(default_factory=list)  # of an open row

    @property
    def children(self) -> list[Children]:
        counts = self.job.children or {}
        return [
            Children(state, *words, counts[state])
            for state, words in _CHILD_STATES.items()
            if counts.get(state)
        ]

    @property
    def children_counted(self) -> int:
        return sum((self.job.children or {}).values())

    @property
    def has_many_children(self) -> bool:
        """Return whether not all of its children were counted."""
        return self.children_counted > MAX_CHILDREN

    @property
    def ran(self) -> float | None:
        """Return for how many seconds its last attempt ran, or has been running."""
        if self.job.started_at is None or self.job.state is State.PENDING:
            return None
        return _seconds(self.job.started_at, self.job.completed_at or self.now)

    @property
    def waited(self) -> float | None:
        """Return for how many seconds it has waited since it was due to start."""
        job = self.job
        due = max(job.created_at, job.run_at or job.created_at)
        if job.started_at is not None and job.state is not State.PENDING:
            return _seconds(due, job.started_at)
        return None if due > self.now else _seconds(due, job.completed_at or self.now)

    @property
    def note(self) -> Note | None:
        job = self.job
        if job.pause_reason:
            return Note("care", job.pause_reason)
        if job.status is Status.RETRYING and job.run_at is not None:
            return Note("care", f"retries {ago(job.run_at)}: {job.error_message or ''}")
        if job.state is State.FAILED and job.error_message:
            return Note("bad", job.error_message)
        if job.cancellation_reason and job.state is not State.COMPLETED:
            return Note("plain", job.cancellation_reason)
        if job.waiting is Reason.TIME and job.run_at is not None:
            return Note("plain", f"starts {ago(job.run_at)}")
        text = _WAITS.get(job.waiting) if job.waiting is not None else None
        return None if text is None else Note("plain", text)

    @property
    def message(self) -> str:
        """Return what a running job says of its progress."""
        progress = self.job.progress
        message = progress.get("message") if isinstance(progress, dict) else None
        is_shown = isinstance(message, str) and self.job.state is State.RUNNING
        return str(message) if is_shown else ""

    @property
    def preview(self) -> str:
        """Return the beginning of its arguments."""
        return preview(self.job.args)


def tree(page: JobRows, ids: Sequence[int], opened: Collection[int]) -> list[TreeRow]:
    """Return the rows of these jobs, with the children of those that are open below them."""
    now = datetime.now(UTC)
    jobs = {job.id: job for job in page.rows}
    children: dict[int | None, list[JobRow]] = defaultdict(list)
    for job in page.rows:
        children[job.parent_id].append(job)

    def row(job: JobRow, depth: int) -> TreeRow:
        if job.id not in opened:
            return TreeRow(job, depth, now)
        below = [row(child, min(depth + 1, _MAX_DEPTH)) for child in children[job.id]]
        return TreeRow(job, depth, now, True, below)

    shown = set(ids).intersection(opened)
    return [row(jobs[job], 0) for job in ids if jobs[job].parent_id not in shown]


def preview(args: JSON) -> str:
    """Return the beginning of arguments as a line: site: example.org, pages: 3."""
    if args is None:
        return "large arguments"
    pairs = args.items() if isinstance(args, dict) else [("", args)]
    text = ""
    for name, value in pairs:
        text += f"{', ' if text else ''}{f'{name}: ' if name else ''}{_written(value)}"
        if len(text) > _MAX_PREVIEW:
            return f"{text[:_MAX_PREVIEW]}…"
    return text


def _written(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _seconds(earlier: datetime, later: datetime) -> float:
    return max((later - earlier).total_seconds(), 0)
