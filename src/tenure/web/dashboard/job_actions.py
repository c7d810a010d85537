"""The actions on a job, as a table: when each is offered, what its button says, what it does."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.inspection import inspect
from tenure.control.job_operations import resume, stop
from tenure.control.questions import answer
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Intent, Reason, State, Status, Verb, verbs_of
from tenure.domain.principal import Principal, Role
from tenure.domain.values import amount, shown
from tenure.errors import InputRefused, NotAnswered
from tenure.store.calls import control_calls, enqueue_calls, queries, step_calls
from tenure.web.context import caller_and_job
from tenure.web.dashboard.answer_form import read_answer
from tenure.web.dashboard.form import Form, form_of
from tenure.web.dashboard.rendering import redirect
from tenure.web.limits import whole_number


@dataclass(frozen=True)
class JobAction:
    """``consequence`` takes the job, and how many jobs below it have not ended."""

    verb: str
    label: str
    run: Callable[[AuthorizedClient, int, Form], Awaitable[object]]
    is_offered: Callable[[Job], bool] = lambda _: False
    consequence: Callable[[Job, int], str] = lambda _, __: ""
    needs_reason: bool = False
    is_grave: bool = False

    def subject(self, job: Job) -> str:
        """Return what the button names after the action."""
        named = {"force": f"and kill job {job.id}", "rerun": ""}
        return named.get(self.verb, f"job {job.id}")

    async def __call__(self, request: Request) -> Response:
        caller, job = await caller_and_job(request, request.path_params["job"])
        result = await self.run(caller, job, form_of(request))
        shown = result.id if self.verb == "rerun" and isinstance(result, Job) else job
        return redirect(request, f"/jobs/{shown}")


def may_control(principal: Principal, job: Job) -> bool:
    if principal.role is Role.ADMIN:
        return True
    return principal.role is Role.OPERATOR and principal.name == job.owner


def offered(principal: Principal, job: Job) -> tuple[JobAction, ...]:
    if not may_control(principal, job):
        return ()
    return tuple(action for action in ACTIONS if action.is_offered(job))


async def _cancel(caller: AuthorizedClient, job: int, form: Form) -> None:
    await caller.aperform(
        stop(
            job,
            Intent.CANCEL,
            form.stated_reason,
            strategy=form.get("strategy"),
            grace=form.get("grace"),
            force=True if "force" in form else None,
            cascade=False if "no_cascade" in form else None,
            rollback=True if "rollback" in form else None,
        )
    )


async def _force(caller: AuthorizedClient, job: int, form: Form) -> None:
    """Make the stop that is in progress a forced one."""
    seen = await caller.asend(queries.show(job))
    intent = Intent.PAUSE if seen.status is Status.PAUSING else Intent.CANCEL
    await caller.aperform(stop(job, intent, form.stated_reason, force=True))


async def _inspect(caller: AuthorizedClient, job: int, _: Form) -> None:
    """Ask for an inspection; the page also shows an answer that comes too late for this request."""
    with suppress(NotAnswered):
        await caller.aperform(inspect(job))


async def _answer(caller: AuthorizedClient, job: int, form: Form) -> None:
    text = form.required("question")
    if (question := whole_number(text)) is None:
        raise InputRefused(f"question: must be the number of a question, not {shown(text)}")
    asked = await caller.asend(step_calls.questions(job))
    schema = next((each.schema for each in asked if each.id == question), {})
    await caller.aperform(answer(job, read_answer(schema, form), question))


def _is_stopping(job: Job) -> bool:
    return job.status in (Status.CANCELLING, Status.PAUSING)


def _cancelled(job: Job, below: int) -> str:
    options = job.options if isinstance(job.options, dict) else {}
    if options.get("cancel_pauses") and job.state is not State.PAUSED:
        end = "Its task declares that a cancel pauses it; it can be resumed"
    else:
        end = "It ends permanently"
    return f"{end}{_also(job, below, 'cancelled')}.{_end_of_code(job)}"


def _paused(job: Job, below: int) -> str:
    end = "It stops, and can be resumed from its checkpoint"
    return f"{end}{_also(job, below, 'paused')}.{_end_of_code(job)}"


def _resumed(job: Job, _: int) -> str:
    where = "from its checkpoint" if job.checkpoint else "from the start; it has no checkpoint"
    return f"It continues {where}."


def _cleared(job: Job, _: int) -> str:
    return "It becomes cancelled" + (f"; {job.target} is free again." if job.target else ".")


def _end_of_code(job: Job) -> str:
    """Return the sentence that says what happens to code that is running."""
    if job.state is not State.RUNNING:
        return ""
    options = job.options if isinstance(job.options, dict) else {}
    grace = options.get("grace", "the default grace period")
    if options.get("last_rung", "killed") != "killed":
        return f" Its code has {grace} to end; its task declares that it is never killed."
    return f" Its code has {grace} to end, then it is killed."


def _also(job: Job, below: int, what: str) -> str:
    parts = []
    if below:
        parts.append(f"{amount(below, 'child', 'children')} will be {what}")
    if job.slots:
        parts.append(f"{amount(len(job.slots), 'slot')} released")
    return f": {', '.join(parts)}" if parts else ""


ACTIONS = (
    JobAction(
        "force",
        "Force now",
        _force,
        _is_stopping,
        lambda _, __: "Its runner and all its processes are killed at once.",
        needs_reason=True,
        is_grave=True,
    ),
    JobAction(
        "cancel",
        "Cancel",
        _cancel,
        lambda job: Verb.CANCEL in verbs_of(job.state) and job.status is not Status.CANCELLING,
        _cancelled,
        needs_reason=True,
        is_grave=True,
    ),
    JobAction(
        "pause",
        "Pause",
        lambda caller, job, form: caller.aperform(
            stop(job, Intent.PAUSE, form.stated_reason, grace=form.get("grace"))
        ),
        lambda job: Verb.PAUSE in verbs_of(job.state) and not job.cancel_requested,
        _paused,
        needs_reason=True,
    ),
    JobAction(
        "resume",
        "Resume",
        lambda caller, job, form: caller.aperform(
            resume(job, form.reason, fresh="fresh" in form, value=form.json("value"))
        ),
        lambda job: Verb.RESUME in verbs_of(job.state),
        _resumed,
    ),
    JobAction(
        "clear",
        "Clear",
        lambda caller, job, form: caller.asend(control_calls.clear(job, reason=form.reason)),
        lambda job: Verb.CLEAR in verbs_of(job.state),
        _cleared,
    ),
    JobAction(
        "queue",
        "Queue",
        lambda caller, job, _: caller.asend(enqueue_calls.queue(job)),
        lambda job: job.waiting is Reason.UNQUEUED,
        lambda _, __: "It runs when a worker is free.",
    ),
    JobAction(
        "rerun",
        "Run again",
        lambda caller, job, form: caller.asend(control_calls.rerun(job, reason=form.reason)),
        lambda job: job.state in ENDED and job.task is not None,
        lambda _, __: "A new job with the same arguments and options is enqueued.",
    ),
    JobAction("inspect", "Inspect", _inspect),
    JobAction("answer", "Answer", _answer),
)
