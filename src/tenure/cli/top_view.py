"""What ``tenure top`` shows of a look, in as much room as there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tenure.cli.looking_on import Look
from tenure.cli.printing import STYLES, clean
from tenure.config import Settings
from tenure.control.checks import longest_stop
from tenure.domain.duration import age
from tenure.domain.job import Job
from tenure.domain.values import LARGEST_NUMBER, nearest_float
from tenure.store.diagnosis_results import OpenStop
from tenure.store.results import Queue, WorkerInfo

_BAR = 12  # characters
_WAITING = ("pending", "scheduled", "waiting", "blocked", "retrying", "paused")
_BUSY = ("running", "cancelling", "pausing", "draining")


@dataclass(frozen=True)
class Section:
    """A table, of which only as many rows are shown as there is room for."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Text]]
    stretch: int  # the column that takes what is left of the width

    def shown(self, room: int, *, fills: bool) -> RenderableType:
        table = Table(box=None, expand=fills, pad_edge=False, padding=(0, 2, 0, 0))
        for place, head in enumerate(self.heads):
            table.add_column(
                Text(head, "dim"),
                no_wrap=True,
                ratio=1 if fills and place == self.stretch else None,
            )
        cut = len(self.rows) > room
        for row in self.rows[: room - 1 if cut else room]:
            table.add_row(*row)
        if cut:
            table.add_row(Text(f"and {len(self.rows) - room + 1} more", "dim"))
        return table


def view(
    look: Look,
    settings: Settings,
    height: int | None,
    trouble: str = "",
    *,
    fills: bool = True,  # the width of the terminal
) -> RenderableType:
    """All of it in this height; without one, as high as it gets."""
    headline = _headline(look, is_live=height is not None, fills=fills)
    head: list[RenderableType] = [headline, _counts(look)]
    if trouble:
        head.append(Text(clean(trouble), "red", no_wrap=True, overflow="ellipsis"))
    sections = [
        Section(
            ("queue", "queued", "running", "waiting", "ended", "oldest", ""),
            [_queue(name, queue) for name, queue in look.statistics.queues.items()],
            stretch=0,
        ),
        Section(
            ("running", "task", "progress", "for", "worker"),
            [_job(job, look) for job in look.running],
            stretch=1,
        ),
        Section(
            ("stopping", "job", "rung", "", "by", "why"),
            [_stop(stop, settings) for stop in look.stops],
            stretch=5,
        ),
        Section(
            ("worker", "host", "pid", "jobs", "lease"),
            [_worker(worker, look.at) for worker in look.workers],
            stretch=1,
        ),
    ]
    there = [section for section in sections if section.rows]
    wanted = [len(section.rows) for section in there]
    # A blank line and the heads of each, and a last line that is left free.
    room = None if height is None else height - len(head) - 2 * len(there) - 1
    parts = list(head)
    for section, rows in zip(there, share(room, wanted), strict=True):
        if rows:
            parts += [Text(), section.shown(rows, fills=fills)]
    if not there:
        parts += [Text(), Text("There are no jobs and no workers yet.", "dim")]
    return Group(*parts)


def share(room: int | None, wanted: Sequence[int]) -> list[int]:
    """How many rows each section gets: in turn one each, until all have what they want."""
    if room is None:
        return list(wanted)
    given = [0] * len(wanted)
    while room > 0 and list(given) != list(wanted):
        for place, want in enumerate(wanted):
            if room > 0 and given[place] < want:
                given[place] += 1
                room -= 1
    return given


def _headline(look: Look, *, is_live: bool, fills: bool) -> RenderableType:
    line = Table.grid(expand=fills, padding=(0, 3, 0, 0))
    line.add_column(no_wrap=True)
    line.add_column(no_wrap=True, justify="right")
    speed = "" if look.ended_per_second is None else f"{look.ended_per_second:,.1f} ended/s   "
    database = f"   {look.server.database}, PostgreSQL {look.server.version // 10_000}"
    line.add_row(
        Text("tenure top", "bold").append(database, "not bold dim"),
        Text(f"{speed}{look.at:%H:%M:%S}{'   q quits' if is_live else ''}", "dim"),
    )
    return line


def _counts(look: Look) -> RenderableType:
    line = Text(no_wrap=True, overflow="ellipsis")
    for status, number in sorted(look.statistics.by_status.items()):
        line.append(f"{number:,} ", "bold").append(f"{status}   ", STYLES.get(status, ""))
    return line


def _queue(name: str, queue: Queue) -> list[Text]:
    def count(*statuses: str) -> str:
        number = sum(queue.by_status.get(status, 0) for status in statuses)
        return f"{number:,}" if number else "·"

    return [
        Text(clean(name)),
        Text(count("queued")),
        Text(count(*_BUSY), "cyan"),
        Text(count(*_WAITING)),
        Text(count("completed", "failed", "cancelled"), "dim"),
        Text("" if queue.oldest_seconds is None else age(queue.oldest_seconds)),
        Text("paused" if queue.paused else "", "yellow"),
    ]


def _job(job: Job, look: Look) -> list[Text]:
    name = f"{job.task or ''}{f' ({job.key})' if job.key else ''}"
    return [
        Text(str(job.id), STYLES.get(job.status, "cyan")),
        Text(clean(name), overflow="ellipsis"),
        _progress(job.progress),
        Text(age(_seconds(job.started_at, look.at))),
        Text((job.worker_id or "")[:8], "dim"),
    ]


def _progress(progress: Any) -> Text:
    told = progress if isinstance(progress, dict) else {}
    done, total = _number(told.get("done")), _number(told.get("total"))
    if done is None:
        return Text()
    if not total or total < 0:
        return Text(f"{done:,}")
    part = min(max(done / total, 0.0), 1.0)
    return _bar(part, "cyan").append(f" {part:4.0%}", "default")


def _stop(stop: OpenStop, settings: Settings) -> list[Text]:
    return [
        Text(stop.cancellation_id, "yellow"),
        Text(str(stop.task_id or stop.job_id)),
        Text("" if stop.rung is None else stop.rung.value),
        _countdown(stop, settings),
        Text(clean(stop.initiated_by), overflow="ellipsis"),
        Text(clean(stop.reason), "dim", overflow="ellipsis"),
    ]


def _countdown(stop: OpenStop, settings: Settings) -> Text:
    longest = longest_stop(stop, settings)
    if longest is None:
        return Text(f"for {age(stop.seconds)}, never killed", "dim")
    left = longest.total_seconds() - stop.seconds
    if left < -1:
        return Text(f"overdue by {age(-left)}", "red")
    return Text(f"killed in {age(max(left, 0))}")


def _worker(worker: WorkerInfo, now: datetime) -> list[Text]:
    left = (worker.expires_at - now).total_seconds()
    whole = (worker.expires_at - worker.beat_at).total_seconds()
    lease = (
        Text(f"over for {age(-left)}", "red")
        if left < 0
        else _bar(left / whole if whole > 0 else 0, "green").append(f" {age(left):>3}", "default")
    )
    style = "red" if worker.status == "late" else STYLES.get(worker.status, "")
    return [
        Text(str(worker.id)[:8]).append(f" {worker.status}", style),
        Text(clean(worker.host), overflow="ellipsis"),
        Text(str(worker.pid), "dim"),
        Text(str(len(worker.jobs)) if worker.jobs else "·"),
        lease,
    ]


def _bar(part: float, style: str) -> Text:
    full = round(min(part, 1.0) * _BAR)
    return Text("━" * full, style).append("─" * (_BAR - full), "dim")


def _number(value: Any) -> int | float | None:
    if not isinstance(value, int | float):
        return None
    return value if abs(value) <= LARGEST_NUMBER else nearest_float(value)


def _seconds(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max((now - since).total_seconds(), 0.0)
