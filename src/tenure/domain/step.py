"""Steps of jobs, and what jobs wait for."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from tenure.domain.job import JSON


class KeptStep(msgspec.Struct, array_like=True, frozen=True):
    """A step or a wait that is over, as the code of its job needs it."""

    name: str
    digest: str
    value: JSON = None
    artifact: str | None = None  # that holds the value
    timed_out: bool = False


class KeptSteps(msgspec.Struct, frozen=True):
    steps: tuple[KeptStep, ...] = ()
    unfinished: tuple[str, ...] = ()  # steps that emitted partial results and did not end


class WaitState(msgspec.Struct, frozen=True):
    """The state of a wait."""

    state: Literal["open", "arrived", "timeout"]
    value: JSON = None
    due_at: datetime | None = None


class StepRecord(msgspec.Struct, frozen=True):
    """A step of a job, or something that it waited for."""

    id: int
    name: str
    kind: Literal["step", "sleep", "event", "question"]
    status: Literal["done", "failed", "timeout", "open"]
    started_at: datetime
    ended_at: datetime | None = None
    value: JSON = None
    artifact: str | None = None  # the job and the name of the artifact that holds a large value
    error: Mapping[str, JSON] | None = None
    spent: Mapping[str, float] | None = None
    attempts: int = 0
    changes: int = 0  # how often it ran again because its arguments had changed
    due_at: datetime | None = None
    event: str | None = None
    key: str | None = None
    question: Mapping[str, JSON] | None = None
    answered_by: str | None = None


class Question(msgspec.Struct, frozen=True):
    """An open question of a job."""

    id: int
    job_id: int
    name: str
    task: str | None
    owner: str
    text: str
    schema: Mapping[str, JSON]  # of the answer
    role: str | None  # who may answer; none: the owner of the job or an admin
    asked_at: datetime
    due_at: datetime | None = None


class Answered(msgspec.Struct, frozen=True):
    """An accepted answer."""

    job_id: int
    question: int
    answered_by: str
    answered_at: datetime
