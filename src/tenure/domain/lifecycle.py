"""The life cycle of a job as data: its states, verbs and transitions."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from tenure.errors import IllegalTransition


class State(StrEnum):
    """The state of a job; users see its status."""

    PENDING = "pending"  # ready, or waiting for a named reason
    RUNNING = "running"  # one worker holds it under its lease
    PAUSED = "paused"  # stopped, and can be resumed; its code is gone
    COMPLETED = "completed"  # its result is accepted
    FAILED = "failed"  # no attempts left, or not worth another
    CANCELLED = "cancelled"  # stopped for good; its code is gone


class Verb(StrEnum):
    """The verbs that change a state. A crash and a recovery are retry, fail, cancel or pause."""

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
    """The reason why a pending job is not ready."""

    UNQUEUED = "unqueued"  # created, but not queued yet
    TASK = "task"  # no worker has announced its task yet
    PROMOTION = "promotion"  # new; its dependencies and its parent were not checked yet
    DEPENDENCIES = "dependencies"  # a job it needs has not completed
    TIME = "time"  # its time has not come
    TARGET = "target"  # other jobs of its target are before it
    LIMIT = "limit"  # a limit has no room for it
    TASKS = "tasks"  # it has no code and waits for its children
    CHILDREN = "children"  # its code waits for its children without holding a worker
    EVENT = "event"  # its code waits for a published event without holding a worker
    ANSWER = "answer"  # its code waits for the answer to a question without holding a worker


class Intent(StrEnum):
    """The intent of a stop; each has the name of its verb."""

    CANCEL = "cancel"
    PAUSE = "pause"


class BulkIntent(StrEnum):
    """The intent of a bulk operation; each has the name of its verb."""

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
    EXPIRED = "expired"  # not stopped: its worker died, and the code with it

    @property
    def height(self) -> int:
        """Return its position on the ladder, from 0."""
        return list(Rung).index(self)

    # All four: those of str compare alphabetically.
    def __lt__(self, other: str) -> bool:
        return self.height < Rung(other).height

    def __le__(self, other: str) -> bool:
        return self.height <= Rung(other).height

    def __gt__(self, other: str) -> bool:
        return self.height > Rung(other).height

    def __ge__(self, other: str) -> bool:
        return self.height >= Rung(other).height


class Status(StrEnum):
    """The status that users see, from the state and columns of a job."""

    PENDING = "pending"  # created, but not queued yet
    SCHEDULED = "scheduled"  # its time has not come
    WAITING = "waiting"  # for a dependency or its children
    BLOCKED = "blocked"  # behind others of its target
    QUEUED = "queued"  # ready
    RETRYING = "retrying"  # failed, and tried again later
    RUNNING = "running"
    CANCELLING = "cancelling"  # a stop was requested; its code may still run
    PAUSING = "pausing"
    DRAINING = "draining"  # its worker takes no new jobs and is about to exit
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def after(state: State, verb: Verb) -> State:
    """Return the state that the verb leads to."""
    try:
        return TRANSITIONS[state, verb]
    except KeyError:
        raise IllegalTransition(f"cannot {verb} a job that is {state}") from None


def verbs_of(state: State) -> tuple[Verb, ...]:
    """Return the verbs that a state allows, in the order of the table."""
    return tuple(verb for start, verb in TRANSITIONS if start == state)


def diagram() -> str:
    """Return the table as a Mermaid state diagram, one arrow for each pair of states."""
    arrows: dict[tuple[State, State], list[Verb]] = {}
    for (start, verb), end in TRANSITIONS.items():
        arrows.setdefault((start, end), []).append(verb)
    lines = [
        f"[*] --> {State.PENDING}",
        *(f"{start} --> {end}: {', '.join(verbs)}" for (start, end), verbs in arrows.items()),
        *(f"{state} --> [*]" for state in State if state in ENDED),
    ]
    return "\n".join(["stateDiagram-v2", *(f"    {line}" for line in lines)]) + "\n"
