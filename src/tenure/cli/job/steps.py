"""``tenure job steps``, ``questions`` and ``answer``."""

from tenure.cli.connection import Connection, connected
from tenure.cli.options import JobName, OptionalJob, argument, option
from tenure.cli.output import ago, clean, compact, duration_text, exact_time
from tenure.cli.parsing import value as json_value
from tenure.control.questions import answer as answer_job
from tenure.control.questions import steps as steps_of
from tenure.domain.step import StepRecord
from tenure.store.calls import queries, step_calls


@connected
def steps(to: Connection, job: JobName) -> None:
    """List the steps of a job, and what it waited for, in the order in which they ended."""
    chosen = to.send(queries.show(to.job(job))).id
    to.out.answer_table(
        tuple(to.perform(steps_of(chosen))),
        ("step", "status", "took", "tries", "spent", "value"),
        lambda it: (
            clean(it.name),
            step_status(it),
            _took(it),
            it.attempts or "",
            _spent(it),
            _value(it),
        ),
        f"job {chosen} has no steps",
    )


@connected
def questions(to: Connection, job: OptionalJob = None) -> None:
    """List the open questions of a job, or of all jobs."""
    to.out.answer_table(
        to.send(step_calls.questions(None if job is None else to.job(job))),
        ("question", "job", "asked", "until", "who", "text"),
        lambda it: (
            it.id,
            it.job_id,
            ago(it.asked_at),
            exact_time(it.due_at) if it.due_at else "",
            it.role or it.owner,
            clean(it.text),
        ),
        "there are no open questions",
    )


@connected
def answer(
    to: Connection,
    job: JobName,
    value: str = argument("JSON", "The answer: JSON, or a text."),
    question: int | None = option("ID", "The question (default: the only open one)."),
) -> None:
    """Answer a question of a job; each takes one answer."""
    done = to.perform(answer_job(to.job(job), json_value(value), question))
    to.out.answer(done, f"Question {done.question} of job {done.job_id} is answered.")


def step_line(step: StepRecord) -> str:
    """Return a step in one line."""
    parts = (clean(step.name), step_status(step), _took(step), _spent(step), _value(step))
    return "  ".join(filter(None, parts))


def step_status(step: StepRecord) -> str:
    """Return the status of a step, and whether it ran again because its arguments had changed."""
    return step.status + (f", changed {step.changes}x" if step.changes else "")


def _took(step: StepRecord) -> str:
    if step.ended_at is None:
        return ""
    return duration_text((step.ended_at - step.started_at).total_seconds())


def _spent(step: StepRecord) -> str:
    return ", ".join(f"{amount:g} {unit}" for unit, amount in (step.spent or {}).items())


def _value(step: StepRecord) -> str:
    if step.error:
        return clean(str(step.error.get("message")))
    if step.artifact:
        return f"artifact {step.artifact}"
    return compact(step.value) if step.ended_at else clean(_awaited(step))


def _awaited(step: StepRecord) -> str:
    if step.question:
        return f"question {step.id}: {step.question['text']}"
    return f"until {exact_time(step.due_at)}" if step.due_at else f"{step.event} {step.key}".strip()
