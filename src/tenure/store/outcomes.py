"""How attempts end and what running jobs report, as the verbs take them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent, Rung


class Ending(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The end of one attempt, under the token it was claimed with."""

    job: int
    token: int
    outcome: Literal["completed", "failed", "retry", "stopped", "released"] | None = None
    value: JSON | msgspec.Raw = None
    error: Mapping[str, JSON] | None = None
    run_at: datetime | None = None  # of a retry, or of a job that is released to go on later
    intent: Intent | None = None  # of a stop that the job itself asked for
    rung: Rung | None = None  # how far the ladder was climbed
    heard: bool = False  # the code was told of the stop before it ended
    runner: str | None = None
    cleanup: Mapping[str, JSON] | None = None
    until: Literal["children"] | None = None  # released until its children have ended
    pids: tuple[int, ...] | None = None  # of the processes that ended with it, some of them
    processes: int | None = None  # how many there were
    suspect: bool = False  # released because what ran it died, and nobody knows whose fault it was
    displaced: bool = False  # released because its runner had to end for another job
    reached: Mapping[str, str] | None = None  # moments of its stop, by name
    unstarted: bool = False  # released before its code began: whatever it is suspected of remains


class Artifact(msgspec.Struct, frozen=True):
    name: str
    url: str
    size: int


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    line: str
    level: str = "info"
    at: datetime | None = None


class Report(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a running job has to say."""

    job: int
    token: int
    progress: Mapping[str, JSON] | None = None
    checkpoint: JSON | msgspec.Raw = None
    partials: Sequence[JSON | msgspec.Raw] = ()
    spent: Mapping[str, float] | None = None
    logs: Sequence[LogLine] = ()
    artifacts: Sequence[Artifact] = ()
    take: Sequence[str] = ()  # pools to take a slot of
    give: Sequence[str] = ()  # pools whose slot it gives back
    forget_artifacts: bool = False  # those it had are deleted
