"""The timeline of a job and its family: a tree of bars in one window of time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.domain.values import amount, nearest_float
from tenure.store.family_results import Family, FamilyMember
from tenure.web.dashboard.formatting import clock, compact, elapsed, plain, quantity, timestamp
from tenure.web.dashboard.window import WIDTH, Window

MAX_ATTEMPTS = 8  # rows of attempts
MAX_STEPS = 30  # rows of steps
_MAX_UNITS = 3
_MIN_WIDTH = 3
_HEIGHT = 24  # of a curve
PARTS = 100  # of the time, in which the verb counts
_TONES = {
    "completed": "good",
    "done": "good",
    "failed": "bad",
    "crashed": "bad",
    "expired": "bad",
    "retry": "bad",
    "timeout": "bad",
    "stopped": "care",
    "cancelled": "care",
    "paused": "care",
    "running": "busy",
    "open": "wait",
}


class TimelineBar(NamedTuple):
    x: float
    width: float
    tone: str
    text: str


class TimelineMark(NamedTuple):
    x: float
    tone: str
    text: str


@dataclass(frozen=True)
class Row:
    kind: str
    name: str
    text: str = ""
    depth: int = 0
    detail: str | None = None  # what tells it from others, such as the arguments of a child
    bars: tuple[TimelineBar, ...] = ()
    marks: tuple[TimelineMark, ...] = ()
    curves: tuple[tuple[str, str], ...] = ()  # a tone and a path
    job: int | None = None
    more: int = 0  # children that are not shown here


class Period(NamedTuple):
    begin: datetime
    end: datetime
    tone: str
    text: str


@dataclass(frozen=True)
class Timeline:
    window: Window
    rows: tuple[Row, ...]
    crowd: Row | None  # all children in one row
    counts: Mapping[State, int]  # of the children


def timeline(
    job: Job,
    family: Family,
    record: CancellationRecord | None,
    steps: Sequence[Mapping[str, Any]],
    partials: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
) -> Timeline:
    """Draw a job with its attempts, steps, spending and recorded events, and its descendants."""
    now = family.last  # if anything has not ended
    window = Window(family.first, family.last, family.since, family.until)
    rows = [
        _own(window, job, now),
        *_attempt_rows(window, job, now),
        *_step_rows(window, steps, now),
        *_checkpoints(window, job),
        *_spending(window, job),
        *_events(window, job, record, partials, events),
    ]
    children = sum(family.counts.values())
    crowd = _crowd(family) if children > 1 else None
    return Timeline(window, (*rows, *_descendants(window, family, now)), crowd, family.counts)


def _bar(window: Window, span: Period) -> TimelineBar:
    x, end = window.x(span.begin), window.x(span.end)
    return TimelineBar(x, max(round(end - x, 1), _MIN_WIDTH), span.tone, span.text)


def _bars(window: Window, spans: Sequence[Period]) -> tuple[TimelineBar, ...]:
    return tuple(_bar(window, span) for span in spans)


def _own(window: Window, job: Job, now: datetime) -> Row:
    spans = _life(job, now)
    text = spans[-1].text if spans else ""
    beats: tuple[TimelineMark, ...] = ()
    if job.state is State.RUNNING and job.heartbeat_at is not None:
        beats = (TimelineMark(window.x(job.heartbeat_at), "beat", "last heartbeat"),)
    name = f"job {job.id}"
    return Row("job", name, text, detail=job.task, bars=_bars(window, spans), marks=beats)


def _life(job: Job | FamilyMember, now: datetime) -> list[Period]:
    """Return the waits and the attempts of a job, in order."""
    runs = [span for _, span in _attempts(job, now)]
    spans: list[Period] = []
    begin = job.created_at
    for run in runs:
        if run.begin > begin:
            spans.append(_wait(begin, run.begin, ""))
        spans.append(run)
        begin = max(begin, run.end)
    end = job.completed_at or now
    if job.state is not State.RUNNING and end > begin and job.state is not State.COMPLETED:
        waits = job.state in (State.PENDING, State.PAUSED)
        if waits or not runs:
            why = f" for {plain(job.waiting)}" if job.waiting else ""
            spans.append(_wait(begin, end, why, str(job.state) if job.completed_at else "waiting"))
    return spans


def _wait(begin: datetime, end: datetime, why: str, word: str = "waited") -> Period:
    return Period(begin, end, "wait", f"{word}{why} {elapsed((end - begin).total_seconds())}")


def _attempts(job: Job | FamilyMember, now: datetime) -> Iterator[tuple[int, Period]]:
    last = None
    for attempt in job.attempts:
        begin, end = timestamp(attempt["started_at"]), timestamp(attempt["ended_at"])
        if begin is None or end is None:
            continue
        last = begin
        took = elapsed((end - begin).total_seconds())
        rung = f", {attempt['rung']}" if attempt.get("rung") else ""
        tone = _TONES.get(attempt["outcome"], "plain")
        outcome = "failed" if attempt["outcome"] == "retry" else attempt["outcome"]
        text = f"{outcome}{rung} after {took}"
        yield attempt["attempt"], Period(begin, end, tone, text)
    # A running attempt has no row yet, nor has a first attempt that completed.
    if job.started_at is not None and (last is None or job.started_at > last):
        end = job.completed_at or now
        if job.state in (State.RUNNING, State.COMPLETED):
            took = elapsed((end - job.started_at).total_seconds())
            word = f"running for {took}" if job.state is State.RUNNING else f"completed in {took}"
            yield job.attempt, Period(job.started_at, end, _TONES[job.state], word)


def _attempt_rows(window: Window, job: Job, now: datetime) -> Iterator[Row]:
    """Yield a row for each attempt, which may have run several times between its waits."""
    attempts: dict[int, list[Period]] = {}
    for number, span in _attempts(job, now):
        attempts.setdefault(number, []).append(span)
    if len(attempts) < 2:
        return
    if (earlier := len(attempts) - MAX_ATTEMPTS) > 0:
        yield Row("left-out", amount(earlier, "earlier attempt"), depth=1)
    for number, spans in list(attempts.items())[-MAX_ATTEMPTS:]:
        yield Row("attempt", f"attempt {number}", spans[-1].text, 1, bars=_bars(window, spans))


def _step_rows(window: Window, steps: Sequence[Mapping[str, Any]], now: datetime) -> Iterator[Row]:
    """Yield a row for each step, and for each thing that the job waited for."""
    for step in sorted(steps[:MAX_STEPS], key=lambda step: (step["started_at"], step["id"])):
        begin, end = timestamp(step["started_at"]), timestamp(step["ended_at"]) or now
        if begin is None:
            continue
        is_wait = step["kind"] != "step"
        took = elapsed((end - begin).total_seconds())
        text = f"{'waiting' if step['ended_at'] is None else step['status']}, {took}"
        tone = "wait" if is_wait else _TONES.get(step["status"], "plain")
        span = Period(begin, end, tone, text)
        name = step["name"] if step["kind"] == step["name"] else f"{step['kind']} {step['name']}"
        yield Row("step", name, text, 1, _step_detail(step), (_bar(window, span),))


def _step_detail(step: Mapping[str, Any]) -> str | None:
    if step["question"]:
        return str(step["question"].get("text"))
    if step["event"]:
        return f"{step['event']} {step['key']}".strip()
    return compact(step["value"])[:80] if step["kind"] == "step" and step["value"] else None


def _checkpoints(window: Window, job: Job) -> Iterator[Row]:
    """Yield a row with some of the checkpoints; the newest is among them."""
    if times := job.checkpoint_times:
        marks = tuple(
            TimelineMark(window.x(at), "checkpoint", f"checkpoint at {clock(at)}") for at in times
        )
        text = f"{job.checkpoints:,}, the last at {clock(times[-1])}"
        yield Row("checkpoints", "checkpoints", text, 1, marks=marks)


def _spending(window: Window, job: Job) -> Iterator[Row]:
    """Yield a curve for each unit: what the job and its descendants had spent until then."""
    for unit, points in sorted(job.spending.items())[:_MAX_UNITS]:
        budget = nearest_float((job.budget or {}).get(unit) or 0)
        total = points[-1][1]
        limit = budget or total or 1
        first = max(window.x(points[0][0]), 0)
        curve = f"M{first} {_HEIGHT}" + "".join(
            f"H{max(window.x(at), 0)}V{round(_HEIGHT - 20 * min(spent / limit, 1), 1)}"
            for at, spent in points
        )
        text = f"{quantity(total)} {unit}" + (f" of {quantity(budget)}" if budget else "")
        path = f"{curve}H{WIDTH}V{_HEIGHT}Z"
        yield Row("spending", f"spent {unit}", text, 1, curves=(("accent", path),))


def _events(
    window: Window,
    job: Job,
    record: CancellationRecord | None,
    partials: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
) -> Iterator[Row]:
    happened = sorted(_happened(job, record, partials, events), key=lambda event: event[0])
    if happened:
        marks = tuple(TimelineMark(window.x(at), tone, text) for at, tone, text in happened)
        yield Row("events", "events", happened[-1][2], 1, marks=marks)


def _happened(
    job: Job,
    record: CancellationRecord | None,
    partials: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[datetime, str, str]]:
    if record is not None:
        yield record.initiated_at, "stop", f"{record.intent} requested by {record.initiated_by}"
    for event in events:
        if event["kind"] != "cancellation" and (at := timestamp(event["at"])):
            yield at, "event", str(event["kind"])
    for partial in partials:
        if at := timestamp(partial["at"]):
            yield at, "partial", "partial result"
    for artifact in job.artifacts:
        if at := timestamp(artifact["created_at"]):
            yield at, "artifact", f"artifact {artifact['name']}"


def _descendants(window: Window, family: Family, now: datetime) -> Iterator[Row]:
    """Yield the members of a family so that each comes right after its parent."""
    below: dict[int, list[FamilyMember]] = {}
    for member in family.members:
        below.setdefault(member.parent_id, []).append(member)
    waiting = [each for each in reversed(family.members) if each.depth == 1]
    task = None  # of the row above: only another one is named
    while waiting:
        member = waiting.pop()
        children = below.get(member.id, [])
        waiting += reversed(children)
        spans = _life(member, now)
        text = f"{plain(member.status)}{_took(member)}"
        yield Row(
            "child",
            f"{member.id} {member.key or (member.task if member.task != task else '') or ''}",
            f"{text}: {member.error}" if member.error and member.state is State.FAILED else text,
            member.depth,
            member.args,
            _bars(window, spans),
            job=member.id,
            more=member.children - len(children),
        )
        task = member.task


def _took(member: FamilyMember) -> str:
    if member.started_at is None or member.completed_at is None:
        return f" for {plain(member.waiting)}" if member.waiting else ""
    return f" in {elapsed((member.completed_at - member.started_at).total_seconds())}"


def _crowd(family: Family) -> Row:
    """Return all children as curves: how many ran and failed in each part of the time."""
    running, ran, failed = 0, [], []
    found = {part: counts for part, *counts in family.spread}
    for part in range(PARTS + 1):
        started, ended, wrong = found.get(part, (0, 0, 0))
        before, running = running, running + started - ended
        ran.append(max(before, running, 1 if started or ended else 0))
        failed.append(wrong)
    top = max(*ran[1:], 1)
    children = amount(sum(family.counts.values()), "child", "children")
    text = ", ".join(f"{count:,} {state}" for state, count in family.counts.items())
    curves = (("busy", _steps_of(ran, top)), ("bad", _steps_of(failed, top)))
    return Row("crowd", children, text, 1, curves=curves)


def _steps_of(heights: Sequence[int], top: int) -> str:
    """Return the path of a curve with a step for each part of the time; the first is before it."""
    tops = [_HEIGHT - max(min(20 * height / top, 20), 3 if height else 0) for height in heights]
    steps = (f"V{y:.1f}H{part * WIDTH // PARTS}" for part, y in enumerate(tops[1:], 1))
    return f"M0 {_HEIGHT}{''.join(steps)}V{_HEIGHT}Z"
