"""What may be done to a job by whoever looks at it: by the table of transitions, and by role."""

from dataclasses import dataclass

from tenure.domain.amount import amount
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Reason, State, Status, Verb, verbs_of
from tenure.domain.principal import Principal, Role


@dataclass(frozen=True)
class Action:
    verb: str
    label: str
    consequence: str
    needs_reason: bool = False
    is_grave: bool = False


def may_control(principal: Principal, job: Job) -> bool:
    if principal.role is Role.ADMIN:
        return True
    return principal.role is Role.OPERATOR and principal.name == job.owner


def actions(principal: Principal, job: Job, below: int) -> tuple[Action, ...]:
    """``below`` is how many jobs below it have not ended."""
    if not may_control(principal, job):
        return ()
    allowed = verbs_of(job.state)
    found = []
    if job.status in (Status.CANCELLING, Status.PAUSING) and job.state is State.RUNNING:
        found.append(_force(job))
    if Verb.CANCEL in allowed and job.status is not Status.CANCELLING:
        found.append(_cancel(job, below))
    if Verb.PAUSE in allowed and not job.cancel_requested:
        found.append(_pause(job, below))
    if Verb.RESUME in allowed:
        found.append(_resume(job))
    if Verb.CLEAR in allowed:
        said = "It becomes cancelled" + (f"; {job.target} is free again." if job.target else ".")
        found.append(Action("clear", "Clear", said))
    if job.waiting is Reason.UNQUEUED:
        found.append(Action("queue", "Queue", "It runs when a worker is free."))
    if job.state in ENDED and job.task is not None:
        said = "A new job with the same arguments and options is enqueued."
        found.append(Action("rerun", "Run again", said))
    return tuple(found)


def _force(job: Job) -> Action:
    intent = "cancel" if job.status is Status.CANCELLING else "pause"
    said = "Its runner and all below it are killed at once, without further grace."
    return Action("force", f"Force the {intent} now", said, needs_reason=True, is_grave=True)


def _cancel(job: Job, below: int) -> Action:
    options = job.options if isinstance(job.options, dict) else {}
    if options.get("cancel_pauses") and job.state is not State.PAUSED:
        said = "This task is paused by a plain cancel and can be resumed"
    else:
        said = "It ends for good"
    said = f"{said}{_also(job, below, 'cancelled')}.{_how_it_ends(job)}"
    return Action("cancel", "Cancel", said, needs_reason=True, is_grave=True)


def _pause(job: Job, below: int) -> Action:
    said = "It stops, and can go on later from its checkpoint"
    said = f"{said}{_also(job, below, 'paused')}.{_how_it_ends(job)}"
    return Action("pause", "Pause", said, needs_reason=True)


def _how_it_ends(job: Job) -> str:
    """Return the sentence that says what happens to code that runs now."""
    if job.state is not State.RUNNING:
        return ""
    options = job.options if isinstance(job.options, dict) else {}
    grace = options.get("grace", "the grace of its worker")
    if options.get("last_rung", "killed") != "killed":
        return f" Its code has {grace} to end, and is not killed: its task says so."
    return f" Its code has {grace} to end, and is killed then."


def _resume(job: Job) -> Action:
    where = "from its checkpoint" if job.checkpoint else "from the start; it has no checkpoint"
    return Action("resume", "Resume", f"It goes on {where}.")


def _also(job: Job, below: int, what: str) -> str:
    said = []
    if below:
        said.append(f"{amount(below, 'child', 'children')} will be {what}")
    if job.slots:
        said.append(f"{amount(len(job.slots), 'slot')} released")
    return f": {', '.join(said)}" if said else ""
