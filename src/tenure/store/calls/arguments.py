"""Arguments that many verbs share."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict
from uuid import UUID

from tenure.domain.lifecycle import Intent, Rung
from tenure.store.call import Argument


def actor(by: str | None, via: str) -> dict[str, Argument]:
    """Who asks, in a call that is not on behalf of a principal."""
    return {"by": Argument(by, "text"), "via": Argument(via, "text")}


def of_job(job: int | None) -> dict[str, Argument]:
    return {"job": Argument(job, "int8")}


def of_worker(worker: UUID) -> dict[str, Argument]:
    return {"worker": Argument(worker, "uuid")}


class Manner(TypedDict, total=False):
    """How to stop; what is not said is as the strategy says, or else as in stop.sql."""

    force: bool | None
    cascade: bool | None
    grace: timedelta | None
    ask_for: timedelta | None
    last_rung: Rung | None
    rollback: bool | None
    preserve: bool | None
    strategy: str | None


def of_stop(
    intent: Intent,
    reason: str | None,
    *,
    force: bool | None = None,
    cascade: bool | None = None,
    grace: timedelta | None = None,
    ask_for: timedelta | None = None,
    last_rung: Rung | None = None,
    rollback: bool | None = None,
    preserve: bool | None = None,
    strategy: str | None = None,
) -> dict[str, Argument]:
    """What is wanted of the jobs that are stopped, why, and in which manner."""
    return {
        "intent": Argument(str(intent), "text"),
        "reason": Argument(reason, "text"),
        "force": Argument(force, "bool"),
        "cascade": Argument(cascade, "bool"),
        "grace": Argument(grace, "interval"),
        "ask_for": Argument(ask_for, "interval"),
        "last_rung": Argument(None if last_rung is None else str(last_rung), "tenure.rung"),
        "rollback": Argument(rollback, "bool"),
        "preserve": Argument(preserve, "bool"),
        "strategy": Argument(strategy, "text"),
    }


def as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
