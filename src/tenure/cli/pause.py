"""Pausing and resuming a queue, a target, a schedule or a tenant."""

from typing import Literal

from tenure.cli.connection import Connection
from tenure.cli.options import MAX_LIMIT
from tenure.cli.parsing import not_found
from tenure.control.authorized_client import AuthorizedClient
from tenure.store.calls import control_calls, queries
from tenure.store.limit_results import DispatchPause

DEFAULT_QUEUE = "default"  # exists before its first job

Subject = Literal["queue", "target", "schedule", "tenant"]


def pause_subject(
    to: Connection,
    caller: AuthorizedClient,
    subject: Subject,
    name: str,
    reason: str | None,
    *,
    is_new: bool = False,
) -> None:
    caller.require("pause_dispatch")
    if not is_new:
        refuse_unknown(to, subject, name)
    at = "" if subject == "tenant" else name
    answer = caller.send(control_calls.pause_dispatch(subject, at, reason=reason))
    state = "is paused" if answer["paused"] else "is already paused"
    to.out.answer(answer, f"{subject.capitalize()} {name} {state}.")


def resume_subject(
    to: Connection, caller: AuthorizedClient, subject: Subject, name: str, reason: str | None
) -> None:
    at = "" if subject == "tenant" else name
    answer = caller.send(control_calls.resume_dispatch(subject, at, reason=reason))
    if not answer["resumed"]:
        refuse_unknown(to, subject, name)
    state = "is resumed" if answer["resumed"] else "was not paused"
    to.out.answer(answer, f"{subject.capitalize()} {name} {state}.")


def refuse_unknown(to: Connection, subject: Subject, name: str) -> None:
    """Refuse what no job has or comes from; a tenant was checked before."""
    if subject == "tenant" or not name or (subject, name) == ("queue", DEFAULT_QUEUE):
        return
    is_schedule = subject == "schedule"
    used_by: dict[str, str] = {
        "owner" if is_schedule else subject: f"schedule:{name}" if is_schedule else name
    }
    if to.send(queries.list_jobs(used_by, n=1)):
        return
    if is_schedule:
        raise not_found(subject, name, pauses_of(to, subject))
    if subject == "queue":
        raise not_found(subject, name, to.send(queries.queues()).keys())
    used = [target.name for target in to.send(queries.targets(n=MAX_LIMIT))]
    if name not in used:
        raise not_found(subject, name, used)


def pauses_of(to: Connection, subject: Subject) -> dict[str, DispatchPause]:
    """Return the paused queues, or other subjects, by their names."""
    return {pause.name: pause for pause in to.send(queries.pauses()) if pause.subject == subject}


def reason_of(pause: DispatchPause) -> str:
    """Return who paused it, and why."""
    return f"paused by {pause.paused_by}" + (f": {pause.reason}" if pause.reason else "")
