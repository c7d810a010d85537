"""The rules of the verb `conclude` as a model: how an attempt ended decides about the job."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, assert_never

from tenure.domain.lifecycle import Intent, Rung, State, Verb, after
from tenure.domain.retry import Retry


@dataclass(frozen=True)
class JobError:
    """Why an attempt failed."""

    type: str
    message: str
    traceback: str | None = None


@dataclass(frozen=True)
class Completed:
    """Its code returned a value."""

    value: object = None


@dataclass(frozen=True)
class Failed:
    """Its code raised an error."""

    error: JobError


@dataclass(frozen=True)
class Stopped:
    """Its code is gone because it was stopped, at this rung."""

    intent: Intent
    rung: Rung


@dataclass(frozen=True)
class Released:
    """It was given back unfinished; nothing is spent."""

    until: Literal["children"] | None = None


@dataclass(frozen=True)
class Crashed:
    """The process that ran it died."""

    error: JobError


@dataclass(frozen=True)
class Expired:
    """Its worker was declared dead."""

    error: JobError
    is_charged: bool = True  # False: the cause is unknown, and no attempt is spent


Outcome = Completed | Failed | Stopped | Released | Crashed | Expired


@dataclass(frozen=True)
class Attempt:
    """What has to be known of an attempt to judge its end."""

    attempt: int
    max_attempts: int
    retry: Retry = field(default_factory=Retry)
    stop: Intent | None = None  # the stop that was asked for, if any
    heard: bool = False  # its code heard of the stop before it ended
    overrun: bool = False  # a budget is overspent, and it is not the budget that pauses it
    orphan_fails: bool = False

    @property
    def is_last(self) -> bool:
        return self.attempt >= self.max_attempts

    def may_try_again(self, error: JobError) -> bool:
        return not self.is_last and not self.retry.gives_up([error.type])


@dataclass(frozen=True)
class Verdict:
    """What becomes of a job."""

    verb: Verb
    delay: timedelta | None = None  # before a retry; None: at once
    intent: Intent | None = None  # the stop it gave way to

    @property
    def state(self) -> State:
        return after(State.RUNNING, self.verb)


def verdict(attempt: Attempt, outcome: Outcome, luck: float = 0.0) -> Verdict:
    """What becomes of a job whose attempt ended this way; luck shortens the delay of a retry."""
    if attempt.stop is not None and _gives_way(attempt, outcome):
        return _stopped(attempt, attempt.stop)
    match outcome:
        case Completed():
            return Verdict(Verb.COMPLETE)
        case Failed(error) if attempt.may_try_again(error):
            return Verdict(Verb.RETRY, delay=attempt.retry.delay_after(attempt.attempt, luck))
        case Failed():
            return Verdict(Verb.FAIL)
        case Stopped(Intent.PAUSE):
            return _stopped(attempt, Intent.PAUSE)
        case Stopped():
            # Nobody asked for it, so there is no record that could say who cancelled the job.
            return Verdict(Verb.FAIL)
        case Released():
            return Verdict(Verb.RELEASE)
        case Expired(is_charged=False) if not attempt.orphan_fails:
            return Verdict(Verb.RELEASE)
        case Crashed():
            return Verdict(Verb.FAIL if attempt.is_last else Verb.RETRY)
        case Expired():
            return Verdict(Verb.FAIL if attempt.is_last or attempt.orphan_fails else Verb.RETRY)
        case _:
            assert_never(outcome)


def _gives_way(attempt: Attempt, outcome: Outcome) -> bool:
    """Whether the stop decides: a job that never heard of it keeps its result or final failure."""
    match outcome:
        case Completed():
            return attempt.heard
        case Failed(error):
            return attempt.heard or attempt.may_try_again(error)
        case Stopped() | Released() | Crashed() | Expired():
            return True
        case _:
            assert_never(outcome)


def _stopped(attempt: Attempt, intent: Intent) -> Verdict:
    """A job that is over its budget ends failed, not paused or cancelled."""
    return Verdict(Verb.FAIL if attempt.overrun else Verb(intent), intent=intent)
