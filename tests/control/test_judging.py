"""The checks of the doctor: which finding follows from which values, at their bounds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tenure.config import Settings
from tenure.control import checks
from tenure.control.checks import Finding, Level, longest_stop
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.domain.principal import Role
from tenure.store.diagnosis_results import (
    Diagnosis,
    EndedJobs,
    LongTransaction,
    OpenStop,
    ServerInfo,
    SomeJobs,
    TableSize,
    Unserved,
)
from tenure.store.results import Token, WorkerInfo

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SETTINGS = Settings()
GB = 1 << 30

SERVER = ServerInfo(
    version=180001,
    now=NOW,
    database="shop",
    standby=False,
    connections=10,
    max_connections=100,
    fsync=True,
    synchronous_commit=True,
    autovacuum=True,
    oldest=None,
)
STOP = OpenStop(
    cancellation_id="cancel-000007",
    job_id=7,
    task_id=None,
    intent=Intent.CANCEL,
    reason="enough",
    initiated_by="ada",
    seconds=1.0,
    force=False,
    grace=None,
    last_rung=Rung.KILLED,
    status="stopping_runners",
    tasks_open=1,
    rung=Rung.ASKED,
    graces=(None,),
    last_rungs=(),
)
AILMENTS = Diagnosis(
    lost=SomeJobs(0, ()),
    unserved=(),
    unrunnable=(),
    unclean=SomeJobs(0, ()),
    ended={State.COMPLETED: EndedJobs(10, 60.0), State.FAILED: EndedJobs(2, 60.0)},
    tables=(TableSize("job", 12, 3, 8192),),
)


def server(**changes: Any) -> ServerInfo:
    return msgspec.structs.replace(SERVER, **changes)


def stop(**changes: Any) -> OpenStop:
    return msgspec.structs.replace(STOP, **changes)


def ailments(**changes: Any) -> Diagnosis:
    return msgspec.structs.replace(AILMENTS, **changes)


def worker(status: Any) -> WorkerInfo:
    return WorkerInfo(uuid4(), "web-1", 42, status, None, NOW, NOW, NOW, None, ())


def token(role: Role, expires_at: datetime | None, revoked_at: datetime | None = None) -> Token:
    return Token(3, "ci", role, "default", NOW, "ada", expires_at, revoked_at, None)


def transaction(seconds: float, idle: bool = True) -> LongTransaction:
    return LongTransaction(seconds, 99, "psql", idle)


FINE: list[Callable[[], Finding]] = [
    lambda: checks.of_postgresql(server(version=140000), 0.001),
    lambda: checks.of_durability(SERVER),
    lambda: checks.of_notices(0.01, None, SETTINGS),
    lambda: checks.of_clock(-1.9),
    lambda: checks.of_connections(server(connections=79)),
    lambda: checks.of_workers([worker("alive"), worker("draining")]),
    lambda: checks.of_queues([]),
    lambda: checks.of_leases(SomeJobs(0, ()), SETTINGS),
    lambda: checks.of_stops([], SETTINGS),
    lambda: checks.of_stops([stop(seconds=39.0)], SETTINGS),
    lambda: checks.of_stops([stop(seconds=1e6, last_rung=Rung.INTERRUPTED)], SETTINGS),
    lambda: checks.of_cleanup(SomeJobs(0, ())),
    lambda: checks.of_vacuum(server(oldest=transaction(299))),
    lambda: checks.of_bloat([TableSize("job", 1000, 20_000, 1)]),
    lambda: checks.of_bloat([TableSize("job", 1_000_000, 200_000, 1)]),
    lambda: checks.of_retention(AILMENTS, SETTINGS),
    lambda: checks.of_tokens([token(Role.ADMIN, NOW), token(Role.VIEWER, None)]),
    lambda: checks.of_tokens([token(Role.ADMIN, None, revoked_at=NOW)]),
    lambda: checks.of_disk(60 * GB, 100 * GB, ".tenure"),
]
WARNINGS: list[tuple[Callable[[], Finding], str, str]] = [
    (
        lambda: checks.of_durability(server(fsync=False)),
        "fsync is off",
        "ALTER SYSTEM SET fsync = on",
    ),
    (
        lambda: checks.of_durability(server(fsync=False, synchronous_commit=False)),
        "fsync and synchronous_commit are off",
        "synchronous_commit = on",
    ),
    (
        lambda: checks.of_notices(None, "is there a pooler?", SETTINGS),
        "LISTEN and NOTIFY do not work: is there a pooler?",
        "with the heartbeat (5s) and jobs with the poll (2s)",
    ),
    (lambda: checks.of_clock(3.0), "3.0 s ahead of the database's", "NTP"),
    (lambda: checks.of_clock(-3.0), "3.0 s behind the database's", "NTP"),
    (
        lambda: checks.of_connections(server(connections=80)),
        "80 of 100 connections",
        "max_connections",
    ),
    (lambda: checks.of_workers([]), "no worker takes jobs", "tenure worker"),
    (lambda: checks.of_workers([worker("draining")]), "1 draining", "tenure worker"),
    (
        lambda: checks.of_cleanup(SomeJobs(6, (9, 8, 7, 6, 5))),
        "6 jobs of the last day could not close a resource (9, 8, 7, 6, 5, ...)",
        "tenure job show 9",
    ),
    (
        lambda: checks.of_vacuum(server(oldest=transaction(3725))),
        "psql (pid 99) has been open for 1h2m5s, idle",
        "pg_terminate_backend(99)",
    ),
    (lambda: checks.of_bloat([TableSize("job", 1000, 20_001, 1)]), "20,001 dead rows", "VACUUM"),
    (
        lambda: checks.of_retention(ailments(tables=(TableSize("job", 1, 1, 11 * GB),)), SETTINGS),
        "failed jobs are kept forever",
        "TENURE_KEEP_FAILED",
    ),
    (
        lambda: checks.of_retention(
            ailments(ended={State.COMPLETED: EndedJobs(1001, 16 * 86_400.0)}), SETTINGS
        ),
        "completed jobs should have been pruned",
        "workers prune",
    ),
    (
        lambda: checks.of_tokens([token(Role.ADMIN, None)]),
        "1 admin token never expires: ci (3)",
        "tenure token revoke 3",
    ),
    (lambda: checks.of_disk(1 * GB - 1, 100 * GB, "here"), "under here", "free some space"),
]
WRONG: list[tuple[Callable[[], Finding], str, str]] = [
    (lambda: checks.of_postgresql(server(version=130013), 0.0), "PostgreSQL 13", "14 or newer"),
    (lambda: checks.of_postgresql(server(standby=True), 0.0), "is a standby", "primary"),
    (lambda: checks.of_connections(server(connections=95)), "95 of 100", "max_connections"),
    (
        lambda: checks.of_workers([worker("alive"), worker("late")]),
        "1 alive, 1 late: web-1 pid 42",
        "recovers their jobs",
    ),
    (
        lambda: checks.of_queues([Unserved("mail", 3, 60.0), Unserved("crawl", 1, 2.0)]),
        "no worker serves mail (3 waiting), crawl (1 waiting)",
        "--queues mail,crawl",
    ),
    (
        lambda: checks.of_leases(SomeJobs(1, (7,)), SETTINGS),
        "1 running job has no live worker (7)",
        "tenure recover",
    ),
    (
        lambda: checks.of_stops([stop(seconds=41.0), STOP], SETTINGS),
        "1 stop is overdue: cancel-000007 (job 7)",
        "tenure job explain 7",
    ),
    (lambda: checks.of_vacuum(server(autovacuum=False)), "autovacuum is off", "autovacuum = on"),
    (lambda: checks.of_disk(1 << 20, 100 * GB, "here"), "1.0 MB free", "free some space"),
]


@pytest.mark.parametrize("judge", FINE)
def test_a_check_that_passes_has_no_remedy(judge: Callable[[], Finding]) -> None:
    found = judge()
    assert (found.level, found.remedy) == (Level.FINE, None)


@pytest.mark.parametrize(
    ("level", "judge", "sentence", "remedy"),
    [(Level.WARNING, *case) for case in WARNINGS] + [(Level.WRONG, *case) for case in WRONG],
)
def test_a_check_that_fails_names_the_problem_and_a_remedy(
    level: Level, judge: Callable[[], Finding], sentence: str, remedy: str
) -> None:
    found = judge()
    assert found.level is level
    assert sentence in found.sentence
    assert remedy in (found.remedy or "")


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 30),
        ({"force": True, "last_rung": Rung.INTERRUPTED}, 0),
        ({"grace": 5.0, "graces": ("1h",)}, 5),
        ({"graces": ("10s", "1m", None)}, 60),
        ({"graces": ("10s",)}, 10),
        ({"graces": ()}, 30),
        ({"last_rung": Rung.TERMINATED}, None),
        ({"last_rungs": (Rung.INTERRUPTED,)}, None),
    ],
)
def test_the_kill_is_due_after_the_longest_grace_of_the_running_jobs(
    changes: dict[str, Any], seconds: int | None
) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert longest_stop(stop(**changes), Settings(stop_grace=timedelta(seconds=30))) == expected
