"""What a keeper and its runners say to one another.

A run is one attempt in one runner. Its number is given by the keeper and never used again, so that
a message that comes late can only be about an attempt that is over.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from tenure.domain.inspection import Stack
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent

ANNOUNCE = "announce"  # to a runner, which then says all that its app can run

Executor = Literal["async", "process", "thread", "command"]
Kind = Literal["async", "process", "thread"]  # of a runner; commands run in processes


class Message(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """One frame on the wire."""


class Work(msgspec.Struct, array_like=True, frozen=True):
    """A job to run. Arguments and checkpoint are JSON, passed on as it came: only its own code must
    be able to read them."""

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
    trace: str | None = None  # the span that enqueued it


class Orders(msgspec.Struct, frozen=True):
    """A stop as its job hears of it."""

    intent: Intent
    reason: str
    by: str
    grace: float  # seconds until it is killed
    cancellation_id: str | None = None  # none: a timeout, a drain or another job of higher priority
    preserve: bool | None = None  # its artifacts; none: as its task says


# From the keeper.


class Begin(Message, frozen=True):
    """What this runner is to be, from now on."""

    kind: Kind
    tenant: str
    worker: str
    settings: Mapping[str, Any]
    folder: str  # for temporary directories


class Start(Message, frozen=True):
    jobs: tuple[Work, ...]


class Ask(Message, frozen=True):
    """The first rung: say to the job that it is to stop."""

    run: int
    orders: Orders


class Interrupt(Message, frozen=True):
    """The second rung: raise CancelledError in it."""

    run: int


class Terminate(Message, frozen=True):
    """The third rung: SIGTERM to what it started."""

    run: int


class Look(Message, frozen=True):
    """Say where the code of this run is."""

    run: int


class Answer(Message, frozen=True):
    """To a question; what went wrong is a sentence."""

    question: int
    value: Any = None
    refusal: tuple[str, str] | None = None  # name of the error and sentence


class Quit(Message, frozen=True):
    """There will be no more work."""


FromKeeper = Begin | Start | Ask | Interrupt | Terminate | Look | Answer | Quit

# From a runner.


class Hello(Message, frozen=True):
    """The module is imported; here is what its app can run."""

    announcement: Mapping[str, Any]
    url: str | None  # where its jobs are; none: it does not say
    settings: Mapping[str, Any]


class Broken(Message, frozen=True):
    """The module cannot be imported."""

    sentence: str
    traceback: str


class Ready(Message, frozen=True):
    """It is what Begin asked for."""


class Ended(msgspec.Struct, array_like=True, frozen=True, omit_defaults=True):
    """How a run ended; its tasks, threads and processes have ended too, unless some are named."""

    run: int
    how: Literal["completed", "failed", "stopped", "snoozed", "paused", "waits", "committed"]
    value: bytes = b""  # JSON, of completed
    error: Mapping[str, JSON] | None = None
    heard: bool = False
    gives_up: bool = False  # of failed: not worth another attempt
    delay: float = 0  # of snoozed
    reason: str = ""  # of paused
    cleanup: Mapping[str, JSON] | None = None
    left: str = ""  # what is left of it in the runner, which must end before this counts
    again: tuple[tuple[str, Mapping[str, JSON]], ...] = ()  # tasks that go on cleaning up


class Endings(Message, frozen=True):
    ended: tuple[Ended, ...]


class WornOut(Message, frozen=True):
    """This runner takes nothing more, and ends when its last ending is told."""

    why: str


class Said(msgspec.Struct, array_like=True, frozen=True, omit_defaults=True):
    """What a run has to say, on its way into a report."""

    run: int
    progress: Mapping[str, JSON] | None = None
    checkpoint: bytes = b""
    partials: tuple[bytes, ...] = ()
    spent: Mapping[str, int | float] | None = None
    logs: tuple[tuple[str, str], ...] = ()  # level and line
    artifacts: tuple[tuple[str, str, int], ...] = ()
    give: tuple[str, ...] = ()
    forget_artifacts: bool = False
    cleaning: bool = False  # its code was stopped, and its hooks and resources are next


class Sayings(Message, frozen=True):
    said: tuple[Said, ...]


class Question(Message, frozen=True):
    number: int
    run: int
    about: str
    told: Any = None


class Interrupting(Message, frozen=True):
    """The second rung was passed on."""

    run: int


class Seen(Message, frozen=True):
    """Where the code of a run is, and which processes it has started as far as that is known."""

    run: int
    stacks: tuple[Stack, ...] = ()
    pids: tuple[int, ...] = ()


FromRunner = Interrupting | Seen | Hello | Broken | Ready | WornOut | Endings | Sayings | Question
