"""Pausing and resuming what jobs stand in: a queue, a target, a tenant."""

from typing import Any, Literal

from tenure.cli.connecting import Connection
from tenure.control.behalf import Behalf
from tenure.store.calls import controlling

Subject = Literal["queue", "target", "tenant"]


def pause_it(
    to: Connection, behalf: Behalf, subject: Subject, name: str, reason: str | None
) -> None:
    at = "" if subject == "tenant" else name
    answer = behalf.send(controlling.pause(subject, at, reason=reason))
    _tell(to, answer, f"{subject} {name} is paused" + ("" if answer["paused"] else " already"))


def unpause_it(
    to: Connection, behalf: Behalf, subject: Subject, name: str, reason: str | None
) -> None:
    at = "" if subject == "tenant" else name
    answer = behalf.send(controlling.unpause(subject, at, reason=reason))
    _tell(
        to, answer, f"{subject} {name} " + ("goes on" if answer["unpaused"] else "was not paused")
    )


def _tell(to: Connection, answer: dict[str, Any], sentence: str) -> None:
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"{sentence[0].upper()}{sentence[1:]}.")
