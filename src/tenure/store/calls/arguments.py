"""Arguments that many verbs share."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from tenure.domain.lifecycle import Intent
from tenure.domain.options import refuse_unknown
from tenure.store.call import Argument


def actor(by: str | None, via: str) -> dict[str, Argument]:
    """Who asks, in a call that is not on behalf of a principal."""
    return {"by": Argument(by, "text"), "via": Argument(via, "text")}


def of_job(job: int | None) -> dict[str, Argument]:
    return {"job": Argument(job, "int8")}


def of_worker(worker: UUID) -> dict[str, Argument]:
    return {"worker": Argument(worker, "uuid")}


_STOP_TYPES = {
    "strategy": "text",
    "force": "bool",
    "cascade": "bool",
    "grace": "interval",
    "ask_for": "interval",
    "last_rung": "tenure.rung",
    "rollback": "bool",
    "preserve": "bool",
}


def of_stop(intent: Intent, reason: str | None, options: Mapping[str, Any]) -> dict[str, Argument]:
    """Return the intent, the reason and the options of a stop; see domain/stop_options.py."""
    refuse_unknown(options, _STOP_TYPES)
    rung = options.get("last_rung")
    given = {**options, "last_rung": None if rung is None else str(rung)}
    return {
        "intent": Argument(str(intent), "text"),
        "reason": Argument(reason, "text"),
        **{name: Argument(given.get(name), kind) for name, kind in _STOP_TYPES.items()},
    }


def as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
