"""The messages between a keeper and its runners.

A run is one attempt in one runner. The keeper numbers runs and never reuses a number, so a late
message can only be about an attempt that has ended.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from tenure.domain.inspection import Stack
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.store.outcomes import Until

ANNOUNCE = "announce"  # argument of a runner that is to list everything its app can run

FORKS = "forks"  # argument of a runner that may become a fork server

Kind = Literal["async", "process", "thread"]  # of a runner; commands run in processes


class Message(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """One frame on the wire."""


class Work(msgspec.Struct, array_like=True, frozen=True):
    """A job to run. Arguments and checkpoint are JSON that only the job's own code decodes."""

    run: int
    id: int
    token: int
    task: str
    queue: str
    args: bytes
    attempt: int
    max_attempts: int
    crashes: int
    priority: int
    owner: str
    root_id: int
    parent_id: int | None
    key: str | None
    target: str | None
    slots: Mapping[str, str] | None
    checkpoint: bytes | None
    close_timeout: float
    preserve_artifacts: bool
    trace: str | None = None  # the span that enqueued the job
    resume_value: bytes | None = None


class LostAttempt(msgspec.Struct, array_like=True, frozen=True):
    """An attempt that failed without a word of its code: it was killed, or its process died."""

    id: int
    task: str
    queue: str
    attempt: int
    max_attempts: int
    owner: str
    root_id: int
    key: str | None
    type: str  # of the error
    message: str


class Orders(msgspec.Struct, frozen=True):
    """A stop as its job sees it."""

    intent: Intent
    reason: str
    by: str
    grace: float  # seconds until the job is killed
    cancellation_id: str | None = None  # None: a timeout, a drain or another job of higher priority
    preserve: bool | None = None  # its artifacts; None: as its task declares


# From the keeper.


class Begin(Message, frozen=True):
    """The role of this runner from now on."""

    kind: Kind
    tenant: str
    worker: str
    settings: Mapping[str, Any]
    folder: str  # for temporary directories


class ServeForks(Message, frozen=True):
    """Become a fork server: make runners on request, and run no jobs."""


class Start(Message, frozen=True):
    jobs: tuple[Work, ...]


class Ask(Message, frozen=True):
    """The first rung: ask the job to stop."""

    run: int
    orders: Orders


class Interrupt(Message, frozen=True):
    """The second rung: raise CancelledError in the job."""

    run: int


class Terminate(Message, frozen=True):
    """The third rung: send SIGTERM to the processes that the job started."""

    run: int


class InspectRequest(Message, frozen=True):
    """Ask where the code of this run is."""

    run: int


class RequestAnswer(Message, frozen=True):
    """The answer to a RunnerRequest: a value or a refusal."""

    request: int
    value: Any = None
    refusal: tuple[str, str] | None = None  # name and message of the error


class ReportLost(Message, frozen=True):
    """Tell the integrations of the app about attempts that could not do so themselves."""

    attempts: tuple[LostAttempt, ...]


class Quit(Message, frozen=True):
    """No more work will follow."""


FromKeeper = (
    Begin
    | ServeForks
    | Start
    | Ask
    | Interrupt
    | Terminate
    | InspectRequest
    | RequestAnswer
    | ReportLost
    | Quit
)

# From a runner.


class Hello(Message, frozen=True):
    """The module is imported, and its app can run what is announced."""

    announcement: Mapping[str, Any]
    url: str | None  # of the database; None: the app names none
    settings: Mapping[str, Any]
    obstacle: str = ""  # why this process cannot be forked, if it was asked


class Broken(Message, frozen=True):
    """The module cannot be imported."""

    sentence: str
    traceback: str


class Ready(Message, frozen=True):
    """The runner has taken the role that Begin assigned."""


class RetryDecision(msgspec.Struct, array_like=True, frozen=True):
    """The decision of a function about a failed attempt."""

    retries: bool
    delay: float | None = None  # seconds; None: as the policy says


class AttemptEnded(msgspec.Struct, array_like=True, frozen=True, omit_defaults=True):
    """The ending of a run. Its tasks, threads and processes have ended, except those in `left`."""

    run: int
    how: Literal[
        "completed", "failed", "stopped", "snoozed", "paused", "exhausted", "waits", "committed"
    ]
    value: bytes = b""  # JSON, of completed
    is_stored: bool = False  # of completed: its artifact has the value
    error: Mapping[str, JSON] | None = None
    heard: bool = False
    gives_up: bool = False  # of failed: not worth another attempt
    kinds: tuple[str, ...] = ()  # of failed: the type of the error and its base classes
    retry_after: float | None = None  # of failed: seconds that the error asks for
    decision: RetryDecision | None = None  # of failed: by the function of its task
    delay: float = 0  # of snoozed
    reason: str = ""  # of paused
    until: Until = "children"  # of waits
    due_at: datetime | None = None  # of waits
    cleanup: Mapping[str, JSON] | None = None
    left: str = ""  # what remains of it in the runner, which must end before this counts
    again: tuple[tuple[str, Mapping[str, JSON]], ...] = ()  # tasks that continue the clean-up
    began: float = 0  # by CLOCK_MONOTONIC, of a run that had to wait for others in its runner
    took: float = 0  # seconds in a process runner


class Endings(Message, frozen=True):
    ended: tuple[AttemptEnded, ...]


class WornOut(Message, frozen=True):
    """This runner accepts no more jobs, and exits after its last ending."""

    why: str


class AttemptReport(msgspec.Struct, array_like=True, frozen=True, omit_defaults=True):
    """Progress, output and other news of one run, for the next report to the database."""

    run: int
    progress: Mapping[str, JSON] | None = None
    checkpoint: bytes = b""
    partials: tuple[bytes, ...] = ()
    step: str = ""  # in which the partials were emitted
    forget_partials: str = ""  # a step that runs again, because its earlier run did not end
    steps: tuple[bytes, ...] = ()  # that have ended; JSON
    spent: Mapping[str, int | float] | None = None
    logs: tuple[tuple[str, str], ...] = ()  # level and line
    artifacts: tuple[tuple[str, str, int], ...] = ()
    give: tuple[str, ...] = ()
    settled: tuple[Mapping[str, JSON], ...] = ()  # grants and reservations that it ends
    forget_artifacts: bool = False
    cleaning: bool = False  # its code was stopped; its hooks and resources are next


class AttemptReports(Message, frozen=True):
    reports: tuple[AttemptReport, ...]


class RunnerRequest(Message, frozen=True):
    """A request that the keeper answers, such as a child job or a slot."""

    number: int
    run: int
    name: str
    arguments: Any = None


class Interrupting(Message, frozen=True):
    """The second rung was passed on."""

    run: int


class InspectAnswer(Message, frozen=True):
    """Where the code of a run is, and the processes that it is known to have started."""

    run: int
    stacks: tuple[Stack, ...] = ()
    pids: tuple[int, ...] = ()


FromRunner = (
    Interrupting
    | InspectAnswer
    | Hello
    | Broken
    | Ready
    | WornOut
    | Endings
    | AttemptReports
    | RunnerRequest
)
