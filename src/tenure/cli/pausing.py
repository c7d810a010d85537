"""Pausing and resuming what jobs stand in: a queue, a target, a tenant."""

from typing import Any, Literal

from tenure.cli.connecting import Connection
from tenure.cli.listing import MOST
from tenure.cli.reading import not_found
from tenure.control.authorized_client import AuthorizedClient
from tenure.store.calls import control_calls, queries

DEFAULT_QUEUE = "default"  # there before its first job

Subject = Literal["queue", "target", "tenant"]


def pause_it(
    to: Connection,
    caller: AuthorizedClient,
    subject: Subject,
    name: str,
    reason: str | None,
    *,
    is_new: bool = False,
) -> None:
    caller.require("pause")
    if not is_new:
        refuse_unknown(to, subject, name)
    at = "" if subject == "tenant" else name
    answer = caller.send(control_calls.pause(subject, at, reason=reason))
    _tell(to, answer, f"{subject} {name} is paused" + ("" if answer["paused"] else " already"))


def unpause_it(
    to: Connection, caller: AuthorizedClient, subject: Subject, name: str, reason: str | None
) -> None:
    at = "" if subject == "tenant" else name
    answer = caller.send(control_calls.unpause(subject, at, reason=reason))
    if not answer["resumed"]:
        refuse_unknown(to, subject, name)
    _tell(to, answer, f"{subject} {name} " + ("goes on" if answer["resumed"] else "was not paused"))


def refuse_unknown(to: Connection, subject: Subject, name: str) -> None:
    """Refuse a queue or a target that no job has; whether a tenant exists was seen before."""
    if subject == "tenant" or not name or (subject, name) == ("queue", DEFAULT_QUEUE):
        return
    if to.send(queries.list_jobs({subject: name}, n=1)):
        return
    if subject == "queue":
        raise not_found(subject, name, to.send(queries.queues()).keys())
    used = [it.name for it in to.send(queries.targets(n=MOST))]
    if name not in used:
        raise not_found(subject, name, used)


def _tell(to: Connection, answer: dict[str, Any], sentence: str) -> None:
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"{sentence[0].upper()}{sentence[1:]}.")
