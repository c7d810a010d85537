"""The life of a job as data: states, verbs, and which verb leads from which state to which."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from tenure.errors import IllegalTransition


class State(StrEnum):
    """Where a job stands; what people see is its status."""

    PENDING = "pending"  # ready, or waiting for a named reason
    RUNNING = "running"  # one worker holds it under its lease
    PAUSED = "paused"  # stopped so that it can go on later; its code is gone
    COMPLETED = "completed"  # its result is accepted
    FAILED = "failed"  # no attempts left, or not worth another
    CANCELLED = "cancelled"  # stopped for good; its code is gone


class Verb(StrEnum):
    """What moves a job. A crash and a recovery end in retry, fail, cancel or pause."""

    CLAIM = "claim"
    COMPLETE = "complete"
    FAIL = "fail"
    RETRY = "retry"
    RELEASE = "release"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    CLEAR = "clear"


TRANSITIONS: Mapping[tuple[State, Verb], State] = MappingProxyType(
    {
        (State.PENDING, Verb.CLAIM): State.RUNNING,
        (State.PENDING, Verb.CANCEL): State.CANCELLED,
        (State.PENDING, Verb.PAUSE): State.PAUSED,
        # A dependency failed, its tasks failed, or nobody started it in time.
        (State.PENDING, Verb.FAIL): State.FAILED,
        # It has no code of its own, and all its tasks completed.
        (State.PENDING, Verb.COMPLETE): State.COMPLETED,
        (State.RUNNING, Verb.COMPLETE): State.COMPLETED,
        (State.RUNNING, Verb.FAIL): State.FAILED,
        (State.RUNNING, Verb.RETRY): State.PENDING,
        (State.RUNNING, Verb.RELEASE): State.PENDING,
        (State.RUNNING, Verb.CANCEL): State.CANCELLED,
        (State.RUNNING, Verb.PAUSE): State.PAUSED,
        (State.PAUSED, Verb.CANCEL): State.CANCELLED,
        (State.PAUSED, Verb.RESUME): State.PENDING,
        (State.FAILED, Verb.RESUME): State.PENDING,
        (State.FAILED, Verb.CLEAR): State.CANCELLED,
    }
)

ENDED = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})


class Reason(StrEnum):
    """Why a pending job is not ready."""

    UNQUEUED = "unqueued"  # created, but nobody has queued it yet
    TASK = "task"  # no worker has announced its task yet
    PROMOTION = "promotion"  # just arrived; its dependencies and its parent have not been looked at
    DEPENDENCIES = "dependencies"  # a job it needs has not completed
    TIME = "time"  # its time has not come
    TARGET = "target"  # it stands in its target's line
    TASKS = "tasks"  # it has no code of its own and waits for its tasks
    CHILDREN = "children"  # its code waits for its children without holding a worker


class Intent(StrEnum):
    """What a stop wants; each intent has the name of its verb."""

    CANCEL = "cancel"
    PAUSE = "pause"


class BulkIntent(StrEnum):
    """What is done to many jobs at once; each intent has the name of its verb."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RERUN = "rerun"


class Rung(StrEnum):
    """A step of the ladder from asking to killing; a later one is greater."""

    ASKED = "asked"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    KILLED = "killed"
    EXPIRED = "expired"  # nobody stopped it: its worker died, and the code with it

    @property
    def height(self) -> int:
        return list(Rung).index(self)

    # All four: a string would otherwise bring its own, by the alphabet.
    def __lt__(self, other: str) -> bool:
        return self.height < Rung(other).height

    def __le__(self, other: str) -> bool:
        return self.height <= Rung(other).height

    def __gt__(self, other: str) -> bool:
        return self.height > Rung(other).height

    def __ge__(self, other: str) -> bool:
        return self.height >= Rung(other).height


class Status(StrEnum):
    """The word people see for a job, from its state and columns."""

    PENDING = "pending"  # created, but not queued yet
    SCHEDULED = "scheduled"  # its time has not come
    WAITING = "waiting"  # for a dependency, its tasks or its children
    BLOCKED = "blocked"  # behind others of its target
    QUEUED = "queued"  # ready
    RETRYING = "retrying"  # failed, and tried again later
    RUNNING = "running"
    CANCELLING = "cancelling"  # a stop was asked for; its code may still run
    PAUSING = "pausing"
    DRAINING = "draining"  # its worker takes nothing new and is about to leave
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def after(state: State, verb: Verb) -> State:
    """The state the verb leads to from this one."""
    try:
        return TRANSITIONS[state, verb]
    except KeyError:
        raise IllegalTransition(f"cannot {verb} a job that is {state}") from None


def verbs_of(state: State) -> tuple[Verb, ...]:
    """What can be done to a job in this state, in the order of the table."""
    return tuple(verb for start, verb in TRANSITIONS if start == state)


def diagram() -> str:
    """The table as a Mermaid state diagram, one arrow for each pair of states."""
    arrows: dict[tuple[State, State], list[Verb]] = {}
    for (start, verb), end in TRANSITIONS.items():
        arrows.setdefault((start, end), []).append(verb)
    lines = [
        f"[*] --> {State.PENDING}",
        *(f"{start} --> {end}: {', '.join(verbs)}" for (start, end), verbs in arrows.items()),
        *(f"{state} --> [*]" for state in State if state in ENDED),
    ]
    return "\n".join(["stateDiagram-v2", *(f"    {line}" for line in lines)]) + "\n"
