"""The ends of attempts and the reports of running jobs, as arguments of verbs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent, Rung

Until = Literal["children", "time", "event", "answer"]


class Ending(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The end of an attempt, with the token of its claim."""

    job: int
    token: int
    outcome: Literal["completed", "failed", "retry", "stopped", "released"] | None = None
    value: JSON | msgspec.Raw = None
    stored: str | None = None  # the artifact that has the value, if that is large
    error: Mapping[str, JSON] | None = None
    run_at: datetime | None = None  # of a retry, or of a job that is released to continue later
    intent: Intent | None = None  # of a stop that the job itself requested
    rung: Rung | None = None  # the highest rung of the ladder that was used
    heard: bool = False  # the code was notified of the stop before it ended
    runner: str | None = None
    cleanup: Mapping[str, JSON] | None = None
    until: Until | None = None  # released until what it waits for has come
    pids: tuple[int, ...] | None = None  # of some processes that ended with it
    processes: int | None = None  # number of these processes
    suspect: bool = False  # released because its runner died, and it may be the cause
    displaced: bool = False  # released because its runner had to end because of another job
    reached: Mapping[str, str] | None = None  # timestamps of its stop, by name
    unstarted: bool = False  # released before its code began; earlier suspicion remains
    waited: float | None = None  # seconds from the claim until its code began


class Artifact(msgspec.Struct, frozen=True):
    name: str
    url: str
    size: int


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    line: str
    level: str = "info"
    at: datetime | None = None


class Report(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The output of a running job since its last report."""

    job: int
    token: int
    progress: Mapping[str, JSON] | None = None
    checkpoint: JSON | msgspec.Raw = None
    partials: list[JSON | msgspec.Raw] = []
    partial_steps: list[str | None] = []  # the step of each; shorter if the rest have none
    forget_partials: list[str] = []  # steps whose earlier run did not end
    steps: list[msgspec.Raw] = []  # that have ended
    spent: dict[str, float] = {}
    logs: list[LogLine] = []
    artifacts: list[Artifact] = []
    take: list[str] = []  # pools of which it requests a slot
    give: list[str] = []  # pools whose slot it releases
    asks: list[Mapping[str, JSON]] = []  # grants and reservations that it requests
    settled: list[Mapping[str, JSON]] = []  # those that it ends or corrects
    forget_artifacts: bool = False  # its artifacts were deleted
