"""The checks of the doctor: pure functions from what was read to a finding with its remedy."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum

import msgspec

from tenure.config import Settings
from tenure.domain.duration import duration, in_words
from tenure.domain.lifecycle import Rung, State
from tenure.domain.principal import Role
from tenure.domain.values import amount, size_text
from tenure.store.diagnosis_results import (
    Diagnosis,
    EndedJobs,
    OpenStop,
    ServerInfo,
    SomeJobs,
    TableSize,
    Unrunnable,
    Unserved,
)
from tenure.store.results import Token, WorkerInfo

_OLDEST_VERSION = 14
_CLOCK_OFF = 2.0  # seconds between two clocks that still count as one
_LONG_TRANSACTION = 300.0  # seconds
_LATE_STOP = timedelta(seconds=5)  # after its deadline, before it counts as overdue
_MANY_DEAD = 20_000  # rows; below that no table is bloated
_LARGE = 10 << 30  # bytes


class Level(StrEnum):
    FINE = "fine"
    WARNING = "warning"  # it works, but not as well as it could
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    check: str
    level: Level
    sentence: str
    remedy: str | None = None


def fine(check: str, sentence: str) -> Finding:
    return Finding(check, Level.FINE, sentence)


def warning(check: str, sentence: str, remedy: str) -> Finding:
    return Finding(check, Level.WARNING, sentence, remedy)


def wrong(check: str, sentence: str, remedy: str) -> Finding:
    return Finding(check, Level.WRONG, sentence, remedy)


def of_postgresql(server: ServerInfo, seconds: float) -> Finding:
    major, minor = divmod(server.version, 10_000)
    if major < _OLDEST_VERSION:
        return wrong(
            "postgresql",
            f"this is PostgreSQL {major}",
            f"Tenure needs {_OLDEST_VERSION} or newer: upgrade the server",
        )
    if server.standby:
        return wrong(
            "postgresql",
            f"PostgreSQL {major}.{minor} is a standby, and nothing can be written to it",
            "point the URL at the primary (target_session_attrs=read-write)",
        )
    return fine(
        "postgresql",
        f"PostgreSQL {major}.{minor} answers in {seconds * 1000:.1f} ms (database "
        f"{server.database})",
    )


def of_durability(server: ServerInfo) -> Finding:
    off = [name for name in ("fsync", "synchronous_commit") if not getattr(server, name)]
    if off:
        are = "is" if len(off) == 1 else "are"
        return warning(
            "durability",
            f"{' and '.join(off)} {are} off: a crash of the server may lose committed jobs",
            "; ".join(f"ALTER SYSTEM SET {name} = on" for name in off),
        )
    return fine("durability", "a committed job survives a crash of the server")


def of_notices(seconds: float | None, trouble: object, settings: Settings) -> Finding:
    if seconds is None:
        return warning(
            "notices",
            f"LISTEN and NOTIFY do not work: {trouble}",
            f"stops arrive with the heartbeat ({in_words(settings.beat)}) and jobs with the poll "
            f"({in_words(settings.poll)}); to be faster, connect workers without the pooler",
        )
    return fine("notices", f"LISTEN and NOTIFY work ({seconds * 1000:.0f} ms with connecting)")


def of_clock(ahead: float) -> Finding:
    """Compare the clock of this host with that of the database."""
    if abs(ahead) < _CLOCK_OFF:
        return fine("clock", f"host and database differ by {abs(ahead) * 1000:.0f} ms")
    way = "ahead of" if ahead > 0 else "behind"
    return warning(
        "clock",
        f"the clock of this host is {abs(ahead):.1f} s {way} the database's",
        "leases use the clock of the database, but schedules and logs that of the host: run NTP",
    )


def of_connections(server: ServerInfo) -> Finding:
    used, limit = server.connections, server.max_connections
    sentence = f"{used} of {limit} connections are in use"
    remedy = "raise max_connections, or put a pooler in front of the database"
    if used >= limit * 0.95:
        return wrong("connections", sentence, remedy)
    if used >= limit * 0.8:
        return warning("connections", sentence, remedy)
    return fine("connections", sentence)


def of_workers(workers: Sequence[WorkerInfo]) -> Finding:
    alive = sum(worker.status == "alive" for worker in workers)
    draining = sum(worker.status == "draining" for worker in workers)
    late = [worker for worker in workers if worker.status == "late"]
    summary = f"{alive} alive" + (f", {draining} draining" if draining else "")
    if late:
        names = ", ".join(f"{worker.host} pid {worker.pid}" for worker in late[:3])
        return wrong(
            "workers",
            f"{summary}, {len(late)} late: {names}",
            "a live worker recovers their jobs; check the host, and its connection to the database",
        )
    if not alive:
        return warning(
            "workers", f"no worker takes jobs ({summary})", "start one: tenure worker MODULE:APP"
        )
    return fine("workers", summary)


def of_queues(unserved: Sequence[Unserved]) -> Finding:
    if not unserved:
        return fine("queues", "every queue with waiting jobs has a worker")
    named = ", ".join(f"{queue.queue} ({queue.jobs} waiting)" for queue in unserved[:5])
    rest = f" and {len(unserved) - 5} more" if len(unserved) > 5 else ""
    return wrong(
        "queues",
        f"no worker serves {named}{rest}",
        f"start one: tenure worker MODULE:APP --queues {','.join(u.queue for u in unserved[:5])}",
    )


def of_tasks(unrunnable: Sequence[Unrunnable]) -> Finding:
    if not unrunnable:
        return fine("tasks", "every waiting job has a worker that can run it")
    named = ", ".join(
        f"{task.task} ({task.jobs} waiting, "
        + ("no live worker has it)" if task.announced else f"not announced{_suggestion(task)})")
        for task in unrunnable[:5]
    )
    rest = f" and {len(unrunnable) - 5} more" if len(unrunnable) > 5 else ""
    return wrong(
        "tasks",
        f"no worker can run {named}{rest}",
        "start a worker whose app has the task, or cancel the jobs if the name is mistyped",
    )


def _suggestion(task: Unrunnable) -> str:
    return f"; the nearest is {task.nearest[0]}" if task.nearest else ""


def of_leases(lost: SomeJobs, settings: Settings) -> Finding:
    if not lost.jobs:
        return fine("leases", "every running job has a live worker")
    return wrong(
        "leases",
        f"{amount(lost.jobs, 'running job has', 'running jobs have')} no live worker "
        f"({_ids(lost)})",
        f"any live worker recovers them within {in_words(settings.recover_every)}; "
        f"by hand: tenure recover",
    )


def longest_stop(stop: OpenStop, settings: Settings) -> timedelta | None:
    """Return the longest time from the request to the kill; None if nothing is killed.

    The settings are for jobs without options of their own.
    """
    if stop.force:
        return timedelta(0)
    own = (rung or Rung(settings.last_rung) for rung in stop.last_rungs)
    if min([stop.last_rung, *own]) < Rung.KILLED:
        return None
    if stop.grace is not None:
        return timedelta(seconds=stop.grace)
    graces = [settings.stop_grace if text is None else duration(text) for text in stop.graces]
    return max(graces, default=settings.stop_grace)


def of_stops(stops: Sequence[OpenStop], settings: Settings) -> Finding:
    late = [stop for stop in stops if _overdue(stop, settings)]
    if late:
        names = ", ".join(f"{stop.cancellation_id} (job {stop.job_id})" for stop in late[:3])
        return wrong(
            "stops",
            f"{amount(len(late), 'stop is', 'stops are')} overdue: {names}",
            f"why: tenure job explain {late[0].job_id}",
        )
    return fine("stops", f"{len(stops)} under way, none overdue" if stops else "none under way")


def _overdue(stop: OpenStop, settings: Settings) -> bool:
    longest = longest_stop(stop, settings)
    # A worker without notifications learns of it with its heartbeat.
    return longest is not None and timedelta(seconds=stop.seconds) > (
        longest + settings.beat + _LATE_STOP
    )


def of_cleanup(unclean: SomeJobs) -> Finding:
    if not unclean.jobs:
        return fine("cleanup", "every job of the last day closed what it had opened")
    return warning(
        "cleanup",
        f"{amount(unclean.jobs, 'job')} of the last day could not close a resource "
        f"({_ids(unclean)})",
        f"what: tenure job show {unclean.ids[0]}",
    )


def of_vacuum(server: ServerInfo) -> Finding:
    oldest = server.oldest
    if oldest is not None and oldest.seconds > _LONG_TRANSACTION:
        open_for = in_words(timedelta(seconds=round(oldest.seconds)))
        return warning(
            "vacuum",
            f"a transaction of {oldest.name} (pid {oldest.pid}) has been open for {open_for}"
            f"{', idle' if oldest.idle else ''}: nothing that ended since can be vacuumed",
            f"end it, or: SELECT pg_terminate_backend({oldest.pid})",
        )
    if not server.autovacuum:
        return wrong("vacuum", "autovacuum is off", "ALTER SYSTEM SET autovacuum = on")
    return fine("vacuum", "no long transaction holds it back")


def of_bloat(tables: Sequence[TableSize]) -> Finding:
    [job] = [table for table in tables if table.name == "job"]
    if job.dead > _MANY_DEAD and job.dead > job.rows / 5:
        return warning(
            "bloat",
            f"the table of jobs has {job.dead:,} dead rows and {job.rows:,} live ones",
            "find out what holds vacuum back, then run VACUUM on the table job",
        )
    return fine("bloat", f"{amount(job.dead, 'dead row')} and {job.rows:,} live ones")


def of_retention(diagnosed: Diagnosis, settings: Settings) -> Finding:
    kept: Mapping[State, timedelta | None] = {
        State.COMPLETED: settings.keep_completed,
        State.FAILED: settings.keep_failed,
        State.CANCELLED: settings.keep_cancelled,
    }
    size = sum(table.bytes for table in diagnosed.tables)
    count = sum(ended.jobs for ended in diagnosed.ended.values())
    summary = f"{amount(count, 'ended job')}, {size_text(size)} in all"
    late = [state for state, keep in kept.items() if _unpruned(diagnosed.ended.get(state), keep)]
    if late:
        return warning(
            "retention",
            f"{summary}; {', '.join(late)} jobs should have been pruned long ago",
            "workers prune every ten minutes: is one running, with these settings?",
        )
    forever = [state for state, keep in kept.items() if keep is None and state in diagnosed.ended]
    if size > _LARGE and forever:
        return warning(
            "retention",
            f"{summary}; {', '.join(forever)} jobs are kept forever",
            f"set TENURE_KEEP_{forever[0].upper()}, such as 90d",
        )
    return fine("retention", summary)


def _unpruned(ended: EndedJobs | None, keep: timedelta | None) -> bool:
    # Trees that have not ended, and jobs that others need, stay longer.
    return (
        ended is not None
        and keep is not None
        and ended.jobs > 1000
        and ended.oldest_seconds > 2 * keep.total_seconds() + 86_400
    )


def of_tokens(tokens: Sequence[Token]) -> Finding:
    forever = [
        token
        for token in tokens
        if token.role is Role.ADMIN and token.expires_at is None and token.revoked_at is None
    ]
    if forever:
        names = ", ".join(f"{token.name} ({token.id})" for token in forever[:5])
        return warning(
            "tokens",
            f"{amount(len(forever), 'admin token never expires', 'admin tokens never expire')}: "
            f"{names}",
            f"create one with --expires 90d instead, then run: tenure token revoke {forever[0].id}",
        )
    return fine("tokens", "every admin token expires, or there is none")


def of_disk(free: int, total: int, folder: str) -> Finding:
    sentence = f"{size_text(free)} free of {size_text(total)} under {folder}"
    remedy = "free some space: PostgreSQL stops when the disk is full"
    if free < 200 << 20:
        return wrong("disk", sentence, remedy)
    if free < 1 << 30 or free < total / 50:
        return warning("disk", sentence, remedy)
    return fine("disk", sentence)


def _ids(some: SomeJobs) -> str:
    names = ", ".join(map(str, some.ids))
    return f"{names}, ..." if some.jobs > len(some.ids) else names
