"""Arguments that many verbs share."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tenure.store.call import Argument


def actor(by: str | None, via: str) -> dict[str, Argument]:
    """Who asks, in a call that is not on behalf of a principal."""
    return {"by": Argument(by, "text"), "via": Argument(via, "text")}


def of_job(job: int | None) -> dict[str, Argument]:
    return {"job": Argument(job, "int8")}


def of_worker(worker: UUID) -> dict[str, Argument]:
    return {"worker": Argument(worker, "uuid")}


def as_list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
