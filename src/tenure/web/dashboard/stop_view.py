"""A stop as the pages of a job and of a record show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tenure.config import Settings
from tenure.domain.cancellation import CancellationMember, StopSummary
from tenure.domain.job import Job
from tenure.store.family_results import Family
from tenure.web.dashboard import strip
from tenure.web.dashboard.axis import Axis, Segment, axis
from tenure.web.dashboard.formatting import elapsed

MAX_LANES = 12  # of more members, only those that took longest are drawn
_FEW_LANES = 6
_HEIGHT = 40  # of the curve of a crowd


@dataclass(frozen=True)
class MemberLane:
    job: int
    name: str
    segments: tuple[Segment, ...]
    is_open: bool
    text: str


@dataclass(frozen=True)
class Crowd:
    """The members of a stop that are too many to draw: how many were left at which time."""

    curve: str  # a path
    text: str


@dataclass(frozen=True)
class StopView:
    cells: tuple[strip.Cell, ...]
    kept: tuple[strip.Cell, ...]
    axis: Axis
    coming: strip.Next | None  # the next rung, if the code is still running then
    lanes: tuple[MemberLane, ...]  # of the other members
    crowd: Crowd | None
    members: int  # beside the job
    ended: int
    facts: tuple[str, ...]  # of a closed record


def stop_view(
    stop: StopSummary, job: Job, settings: Settings, names: Mapping[int, str]
) -> StopView:
    record, cells = stop.record, strip.strip(stop, job, settings)
    now = datetime.now(UTC)
    drawn = axis(record, cells, now)
    others = [member for member in record.members if member.job_id != job.id]
    own = strip.member_of(record, job.id)
    n = stop.members - (own is not None)
    ended = stop.ended - (own is not None and own.ended_at is not None)
    is_crowd = n > MAX_LANES
    shown = sorted(others, key=_lasted)[-_FEW_LANES:][::-1] if is_crowd else others
    return StopView(
        cells,
        tuple(cell for cell in strip.kept(stop) if cell.text),
        drawn,
        strip.next_of(stop, job, settings),
        tuple(_lane(drawn, member, names, now) for member in shown),
        _crowd(drawn, stop, n, now) if is_crowd else None,
        n,
        ended,
        tuple(_facts(stop)) if record.completed_at else (),
    )


def names_of(family: Family) -> Mapping[int, str]:
    """Return what tells the members of a stop apart, as far as they are known."""
    return {
        each.id: " ".join(part for part in (each.key or each.task, each.args) if part)
        for each in family.members
    }


def _lasted(member: CancellationMember) -> tuple[bool, datetime]:
    return member.ended_at is None, member.ended_at or datetime.max.replace(tzinfo=UTC)


def _lane(
    drawn: Axis, member: CancellationMember, names: Mapping[int, str], now: datetime
) -> MemberLane:
    if member.ended_at is None:
        text = "still running" if member.was == "running" else "not ended yet"
    else:
        took = (member.ended_at - drawn.begin).total_seconds()
        text = f"{member.rung or 'not running'} +{elapsed(max(took, 0))}"
    segments = drawn.lane(member, now)
    is_open = member.ended_at is None
    return MemberLane(member.job_id, names.get(member.job_id, ""), segments, is_open, text)


def _crowd(drawn: Axis, stop: StopSummary, members: int, now: datetime) -> Crowd:
    """Draw how many members had not ended at each time, until now."""
    left, last = members, drawn.x(now)
    curve = f"M0 {_HEIGHT}V2"
    for at, n in stop.ends:
        left -= n
        curve += f"H{drawn.x(at):g}V{round(_HEIGHT - (_HEIGHT - 2) * left / members, 1):g}"
    rungs = sorted(stop.rungs.items(), key=lambda rung: -rung[1])
    text = ", ".join(f"{count:,} {rung}" for rung, count in rungs)
    return Crowd(f"{curve}H{last:g}V{_HEIGHT}Z", text)


def _facts(stop: StopSummary) -> list[str]:
    processes, facts = stop.whole.processes, []
    if stop.whole.rung is not None:
        facts.append(f"last rung: {stop.whole.rung}")
    if stop.members > 1:
        facts.append(f"{stop.members:,} jobs")
    if processes:
        facts.append(f"{processes:,} {'process' if processes == 1 else 'processes'} gone")
    return facts
