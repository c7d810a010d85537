"""The steps of a job, its questions and their answers, and published events."""

from collections.abc import Mapping
from typing import Any

from tenure.control.catalogue import schema_mistakes
from tenure.control.operation import Operation
from tenure.domain.bounds import MAX_ARGS_BYTES
from tenure.domain.duration import Duration, duration
from tenure.domain.job import JSON, Job
from tenure.domain.step import Answered, Question, StepRecord
from tenure.domain.values import name_text, shown
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, step_calls
from tenure.store.new_jobs import encode_bounded

_PAGE = 1000
_MAX_NAME = 200  # characters


def steps(job: int) -> Operation[list[StepRecord]]:
    """Return the steps and waits of a job in the order in which they were written."""
    found: list[StepRecord] = []
    while True:
        page: tuple[StepRecord, ...] = yield step_calls.steps(
            job, above=found[-1].id if found else 0, n=_PAGE
        )
        found += page
        if len(page) < _PAGE:
            return found


def answer(
    job: int, value: JSON, question: int | None = None, *, by: str | None = None
) -> Operation[Answered]:
    """Answer a question, after a check against its schema; without an id, the only open one."""
    asked: tuple[Question, ...] = yield step_calls.questions(job)
    chosen = [each for each in asked if question in (None, each.id)]
    if chosen and (mistakes := schema_mistakes(chosen[0].schema, value)):
        raise InputRefused(
            f"question {chosen[0].id} cannot take this answer: {'; '.join(mistakes)}"
        )
    text = encode_bounded(value, "the answer", MAX_ARGS_BYTES).decode()
    picked = chosen[0].id if chosen else question
    answered: Answered = yield step_calls.answer(job, text, picked, by=by)
    return answered


def rerun(
    job: int,
    reason: str | None = None,
    *,
    from_step: str | None = None,
    steps: Mapping[str, JSON] | None = None,
    by: str | None = None,
) -> Operation[Job]:
    """Enqueue a new job like this one, with the values of earlier steps if some are asked for."""
    if isinstance(steps, Mapping):
        for name, value in steps.items():
            encode_bounded(value, f"the value of step {shown(name)}", MAX_ARGS_BYTES)
    made: Job = yield control_calls.rerun(
        job, reason=reason, from_step=from_step, steps=steps, by=by
    )
    return made


def publish(
    name: str,
    key: str | int = "",
    payload: Any = None,
    *,
    keep: Duration = "7d",
    by: str | None = None,
) -> Operation[int]:
    """Publish an event and return its id; jobs that wait for it get it within ``keep``."""
    text = encode_bounded(payload, "the payload of the event", MAX_ARGS_BYTES).decode()
    published: int = yield step_calls.publish(
        name_text(name, "the name of an event", _MAX_NAME),
        str(key),
        text,
        keep=duration(keep),
        by=by,
    )
    return published
