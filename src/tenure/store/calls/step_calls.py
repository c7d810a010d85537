"""Verbs of steps, questions and published events."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Unpack
from uuid import UUID

from tenure.domain.step import Answered, KeptSteps, Question, StepRecord, WaitState
from tenure.store.verb import Actor, EncodedJSON, Int4, verb


@verb(safe=True)
def kept_steps(worker: UUID, job: int, token: int) -> KeptSteps: ...


@verb(safe=True)
def await_step(worker: UUID, job: int, token: int, wait: Mapping[str, Any]) -> WaitState: ...


@verb(safe=True)
def steps(job: int, *, above: int = 0, n: Int4 = 1000) -> tuple[StepRecord, ...]: ...


@verb(safe=True)
def questions(job: int | None = None, n: Int4 = 100) -> tuple[Question, ...]: ...


@verb()
def answer(
    job: int, value: EncodedJSON, question: int | None = None, **actor: Unpack[Actor]
) -> Answered: ...


@verb(field="id")
def publish(
    name: str,
    key: str = "",
    payload: EncodedJSON | None = None,
    *,
    keep: timedelta = timedelta(days=7),
    **actor: Unpack[Actor],
) -> int: ...
