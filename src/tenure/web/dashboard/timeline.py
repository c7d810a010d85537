"""The timeline of a job as bars: waiting, each attempt, events, and its children."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.web.dashboard.formatting import elapsed, timestamp

WIDTH = 1000  # of the drawing, on any screen
_MIN_WIDTH = 3
_MAX_CHILDREN = 20
_TONES = {
    "completed": "good",
    "failed": "bad",
    "crashed": "bad",
    "expired": "bad",
    "retry": "bad",
    "stopped": "care",
    "cancelled": "care",
    "paused": "care",
    "running": "busy",
}


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    tone: str
    text: str


@dataclass(frozen=True)
class Row:
    name: str
    text: str
    bars: tuple[Bar, ...]
    job: int | None = None  # the child that the row shows


@dataclass(frozen=True)
class Timeline:
    begin: datetime
    end: datetime
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Period:
    begin: datetime
    end: datetime
    tone: str
    text: str


def timeline(
    job: Job,
    record: CancellationRecord | None,
    children: Sequence[Job],
    partials: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
) -> Timeline:
    """Return the rows of a job, with its partial results and its recorded events."""
    now = datetime.now(UTC)
    scale = _Scale(job.created_at, job.completed_at or now)
    rows = [_row(scale, "waiting", list(_waits(job, now)))]
    rows += [_row(scale, f"attempt {number}", [span]) for number, span in _attempts(job, now)]
    happened = sorted(_happened(job, record, partials, events), key=lambda event: event[0])
    if happened:
        points = [_Period(at, at, "point", text) for at, text in happened]
        rows.append(_row(scale, "events", points))
    rows += [_child(scale, child, now) for child in sorted(children, key=lambda child: child.id)][
        :_MAX_CHILDREN
    ]
    return Timeline(scale.begin, scale.end, tuple(rows))


class _Scale:
    def __init__(self, begin: datetime, end: datetime) -> None:
        self.begin, self.end = begin, max(begin, end)
        self._seconds = max((self.end - begin).total_seconds(), 0.001)

    def bar(self, span: _Period) -> Bar:
        x, end = self._x(span.begin), self._x(span.end)
        width = max(end - x, _MIN_WIDTH)
        return Bar(round(min(x, WIDTH - width), 1), round(width, 1), span.tone, span.text)

    def _x(self, at: datetime) -> float:
        share = (at - self.begin).total_seconds() / self._seconds
        return min(max(share, 0), 1) * WIDTH


def _row(scale: _Scale, name: str, spans: Sequence[_Period], job: int | None = None) -> Row:
    text = "; ".join(span.text for span in spans)
    return Row(name, text, tuple(scale.bar(span) for span in spans), job)


def _waits(job: Job, now: datetime) -> Iterator[_Period]:
    """Yield the times between its attempts, before the first, and until now if it is pending."""
    begin = job.created_at
    runs = [span for _, span in _attempts(job, now)]
    for run in runs:
        if run.begin > begin:
            yield _Period(begin, run.begin, "wait", elapsed((run.begin - begin).total_seconds()))
        begin = max(begin, run.end)
    end = job.completed_at or now
    if job.state is not State.RUNNING and end > begin and (not runs or job.state is State.PENDING):
        why = f" for its {job.waiting}" if job.waiting else ""
        yield _Period(begin, end, "wait", f"{elapsed((end - begin).total_seconds())}{why}")


def _attempts(job: Job, now: datetime) -> Iterator[tuple[int, _Period]]:
    last = None
    for attempt in job.attempts:
        begin, end = timestamp(attempt["started_at"]), timestamp(attempt["ended_at"])
        if begin is None or end is None:
            continue
        last = begin
        took = elapsed((end - begin).total_seconds())
        rung = f", {attempt['rung']}" if attempt.get("rung") else ""
        tone = _TONES.get(attempt["outcome"], "plain")
        yield (
            attempt["attempt"],
            _Period(begin, end, tone, f"{attempt['outcome']}{rung} after {took}"),
        )
    # A running attempt has no row yet, nor has a first attempt that completed.
    if job.started_at is not None and (last is None or job.started_at > last):
        end = job.completed_at or now
        if job.state in (State.RUNNING, State.COMPLETED):
            took = elapsed((end - job.started_at).total_seconds())
            word = f"running for {took}" if job.state is State.RUNNING else f"completed in {took}"
            yield job.attempt, _Period(job.started_at, end, _TONES[job.state], word)


def _happened(
    job: Job,
    record: CancellationRecord | None,
    partials: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[datetime, str]]:
    if record is not None:
        yield record.initiated_at, f"{record.intent} requested by {record.initiated_by}"
    for event in events:
        if event["kind"] != "cancellation" and (at := timestamp(event["at"])):
            yield at, str(event["kind"])
    for partial in partials:
        if at := timestamp(partial["at"]):
            yield at, "partial result"
    for artifact in job.artifacts:
        if at := timestamp(artifact["created_at"]):
            yield at, f"artifact {artifact['name']}"
    if job.state is State.RUNNING and job.heartbeat_at is not None:
        yield job.heartbeat_at, "last heartbeat"


def _child(scale: _Scale, child: Job, now: datetime) -> Row:
    begin = child.started_at or child.created_at
    end = child.completed_at or now
    tone = _TONES.get(child.state, "wait")
    return _row(scale, f"job {child.id}", [_Period(begin, end, tone, str(child.status))], child.id)
