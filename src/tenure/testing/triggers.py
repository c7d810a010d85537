"""Stops and crashes that a test plans: at the third emit, after the first checkpoint."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypedDict, Unpack

from tenure.control.task import Task
from tenure.domain.values import shown
from tenure.errors import InputRefused
from tenure.runtime.messages import AttemptReport

Effect = Literal["cancel", "pause", "kill"]


class At(TypedDict, total=False):
    """An event, and how often it has to happen: ``emit=3``."""

    emit: int
    checkpoint: int
    progress: int
    spend: int
    artifact: int
    spawn: int
    step: int


@dataclass(eq=False)
class Trigger:
    """A stop or a crash of the first attempt that reaches an event."""

    effect: Effect
    event: str
    at: int
    task: str | None  # None: of any task
    reason: str | None = None
    highest: int = 0  # how often the event has happened in one attempt
    is_done: bool = False
    _seen: Counter[int] = field(default_factory=Counter)  # by run

    def applies_to(self, task: str) -> bool:
        """Tell whether an attempt of this task may reach it."""
        return not self.is_done and self.task in (None, task)

    def reaches(self, run: int, events: Counter[str]) -> bool:
        """Count the events of a run; return true when it is reached, once."""
        self._seen[run] += events[self.event]
        self.highest = max(self.highest, self._seen[run])
        self.is_done = self._seen[run] >= self.at
        return self.is_done

    def __str__(self) -> str:
        of = f" of {self.task}" if self.task else ""
        return f"{self.effect} at {self.event} {self.at}{of}"


def trigger(
    effect: Effect, task: Task[..., object] | None, reason: str | None, **at: Unpack[At]
) -> Trigger:
    """Return the trigger that a test described."""
    events = ", ".join(f"{name}=3" for name in At.__annotations__)
    if len(at) != 1:
        raise InputRefused(f"name one event and its number: {events}")
    [(event, number)] = at.items()
    if event not in At.__annotations__:
        raise InputRefused(f"there is no event {shown(event)}; there are: {events}")
    if type(number) is not int or number < 1:
        raise InputRefused(f"{event}= takes a whole number from 1, not {shown(number)}")
    return Trigger(effect, event, number, task.name if task is not None else None, reason)


def events_of(report: AttemptReport) -> Counter[str]:
    """Count what a report contains."""
    return Counter(
        emit=len(report.partials),
        checkpoint=1 if report.checkpoint else 0,
        progress=1 if report.progress is not None else 0,
        spend=1 if report.spent else 0,
        artifact=len(report.artifacts),
        step=len(report.steps),
    )
