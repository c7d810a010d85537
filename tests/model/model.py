"""What must be true: what was asked for, who holds what, and what each ending has to lead to.

The model does not know how the database decides what is claimable. It knows what was asked, what
was acknowledged, and how an attempt that ended in a given way has to be judged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State, Verb
from tenure.store.outcomes import Ending
from tests.model.verdicts import (
    Attempt,
    Completed,
    Crashed,
    Expired,
    Failed,
    JobError,
    Outcome,
    Released,
    Stopped,
    verdict,
)

_EPOCH = datetime.fromtimestamp(0, UTC)
_ERROR = JobError("ValueError", "no")


@dataclass(frozen=True)
class Act:
    """One verb as it was said, and what came back: an answer or an error."""

    verb: str
    worker: UUID | None = None
    job: int | None = None
    by: str | None = None
    said: Mapping[int, Any] = field(default_factory=dict)  # by job: its Ending or Report
    asked: tuple[NewJob, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None
    error: Exception | None = None


@dataclass
class ModelJob:
    asked: NewJob  # with ids for names
    needs: Mapping[int, str]  # what it comes after -> policy
    state: State = State.PENDING
    attempts: int = 0  # spent
    token: int | None = None
    holder: UUID | None = None
    stop: Intent | None = None
    tokens: set[int] = field(default_factory=set)  # all it ever had
    results: int = 0  # accepted
    been: set[State] = field(default_factory=lambda: {State.PENDING})

    @property
    def parent(self) -> int | None:
        return self.asked.parent if isinstance(self.asked.parent, int) else None

    @property
    def has_code(self) -> bool:
        return self.asked.task is not None

    def closes_target(self, state: State, *, holds: bool) -> bool:
        """Whether its target is closed to others by it."""
        if state in (State.PAUSED, State.FAILED):
            return str(state) in self.asked.block_on
        return state is State.RUNNING or (state is State.PENDING and holds)


@dataclass
class ModelWorker:
    id: UUID
    dead: bool = False
    floors: str | None = None


@dataclass(frozen=True)
class Holding:
    """A claim that was acknowledged, whether it still counts or not."""

    worker: UUID
    job: int
    token: int


@dataclass
class Model:
    jobs: dict[int, ModelJob] = field(default_factory=dict)
    workers: dict[UUID, ModelWorker] = field(default_factory=dict)
    holdings: list[Holding] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)  # idempotency key -> job
    pauses: set[tuple[str, str]] = field(default_factory=set)
    spent: dict[tuple[int, str], float] = field(default_factory=dict)
    taken: list[Any] = field(default_factory=list)  # from the limit, in order
    latest: datetime = _EPOCH  # the highest that the clock ever was

    def born(self, job: int, asked: NewJob, needs: Mapping[int, str]) -> None:
        self.jobs[job] = ModelJob(asked, needs)
        if asked.idempotency is not None:
            self.keys[asked.idempotency] = job

    def forget(self, jobs: Sequence[int]) -> None:
        for job in jobs:
            key = self.jobs.pop(job).asked.idempotency
            if key is not None:
                del self.keys[key]
        self.holdings = [one for one in self.holdings if one.job in self.jobs]

    def lineage(self, job: int | None) -> Iterator[int]:
        """The job and all above it."""
        while job is not None and job in self.jobs:
            yield job
            job = self.jobs[job].parent

    def spend(self, job: int, amounts: Mapping[str, float]) -> None:
        for one in self.lineage(job):
            for unit, amount in amounts.items():
                self.spent[one, unit] = self.spent.get((one, unit), 0) + amount

    def is_overspent(self, job: int) -> bool:
        return any(
            self.spent.get((one, unit), 0) > limit
            for one in self.lineage(job)
            for unit, limit in (self.jobs[one].asked.budget or {}).items()
        )

    def met(self, job: int) -> bool:
        """Whether everything it comes after has once been as its edge wants it."""
        return all(
            needed not in self.jobs
            or any(satisfies(state, policy) for state in self.jobs[needed].been)
            for needed, policy in self.jobs[job].needs.items()
        )

    def live_holder(self, unique: str | None) -> int | None:
        live = (State.PENDING, State.RUNNING, State.PAUSED)
        return next(
            (
                number
                for number, job in self.jobs.items()
                if unique is not None and job.asked.unique == unique and job.state in live
            ),
            None,
        )

    def is_current(self, worker: UUID | None, job: int, token: int) -> bool:
        """Whether this is the fence of a running job, of a worker nobody has declared dead."""
        known = self.jobs.get(job)
        if known is None or worker is None or self.workers[worker].dead:
            return False
        return known.state is State.RUNNING and (known.holder, known.token) == (worker, token)

    def judged(self, job: int, ending: Ending | None, how: str, *, charged: bool = True) -> Verb:
        """What has to become of a running job whose attempt ended this way."""
        known = self.jobs[job]
        # Whether a failure is worth another attempt has been decided by its keeper.
        last = how == "failed" or known.attempts >= known.asked.max_attempts
        attempt = Attempt(
            attempt=known.attempts,
            max_attempts=known.attempts if last else known.asked.max_attempts,
            stop=known.stop,
            heard=ending is not None and ending.heard,
            overrun=self.is_overspent(job),
            orphan_fails=known.asked.orphan == "fail",
        )
        return verdict(attempt, _outcome(how, ending, known.stop, charged)).verb


def satisfies(state: State, policy: str) -> bool:
    """Whether a job in this state is what an edge of this policy waits for."""
    return state is State.COMPLETED or (
        policy == "run" and state in (State.FAILED, State.CANCELLED)
    )


def _outcome(how: str, ending: Ending | None, stop: Intent | None, charged: bool) -> Outcome:
    rung = Rung.INTERRUPTED
    match how:
        case "completed":
            return Completed()
        case "retry" if stop is not None:
            return Stopped(stop, rung)  # a stop that arrived first wins over a retry
        case "failed" | "retry":
            return Failed(_ERROR)
        case "stopped":
            return Stopped((ending and ending.intent) or Intent.CANCEL, rung)
        case "released":
            return Released()
        case "crashed":
            return Crashed(_ERROR)
        case "expired":
            return Expired(_ERROR, charged)
    raise AssertionError(how)
