"""Verbs that insert jobs and make them ready."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Unpack

import msgspec

from tenure.domain.job import JSON, Job, NewJob
from tenure.domain.options import DECLARABLE
from tenure.store.answers import answer_reader
from tenure.store.call import Call
from tenure.store.new_jobs import check_jobs, encode_json, refuse_not_json
from tenure.store.results import Enqueued, Promoted
from tenure.store.verb import Actor, Int4, Parameter, verb

_ENQUEUE_TYPES = {
    "jobs": "pg_catalog.jsonb",
    "declared": "pg_catalog.bool",
    "by": "pg_catalog.text",
    "via": "pg_catalog.text",
}


_read_enqueued = answer_reader(tuple[Enqueued, ...])


def enqueue(
    jobs: NewJob | Sequence[NewJob],
    *,
    given: Sequence[Collection[str]] | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[tuple[Enqueued, ...]]:
    """Enqueue jobs that carry all options that their tasks declare.

    With ``given`` they do not: of the options that a task can declare, only these fields of each
    job are sent, and the database fills in the rest from the catalogue.
    """
    call = [jobs] if isinstance(jobs, NewJob) else list(jobs)
    order = check_jobs(call)
    batch = [call[place] for place in order]
    sent = batch if given is None else [_partial(call[place], given[place]) for place in order]

    def read(text: bytes | str) -> tuple[Enqueued, ...]:
        by_place = dict(zip(order, _read_enqueued(text), strict=True))
        return tuple(by_place[place] for place in range(len(call)))

    return Call(
        "enqueue",
        {"jobs": encode_json(sent), "declared": given is None, "by": by, "via": via},
        _ENQUEUE_TYPES,
        read,
        safe=bool(batch)
        and all(job.idempotency for job in batch if not isinstance(job.parent, str)),
    )


def _partial(job: NewJob, given: Collection[str]) -> dict[str, JSON]:
    whole = msgspec.structs.asdict(job)
    default = msgspec.structs.asdict(NewJob())
    return {
        name: value
        for name, value in whole.items()
        if (name in given if name in DECLARABLE else value != default[name])
    }


def _encode_job(job: NewJob) -> str:
    check_jobs([job])
    return encode_json(job)


def _encode_arguments(arguments: Sequence[Mapping[str, JSON]] | msgspec.Raw) -> str:
    if not isinstance(arguments, msgspec.Raw):
        for value in arguments:
            refuse_not_json(value)
    return encode_json(arguments)


@verb(safe=lambda given: bool(given["idempotency"] or given["job"].idempotency))
def enqueue_reserved(
    job: Annotated[NewJob, Parameter("jsonb", _encode_job)],
    *,
    idempotency: str | None = None,
    unique: str | None = None,
    **actor: Unpack[Actor],
) -> tuple[Enqueued, ...]:
    """Enqueue a job for Tenure itself, with keys that no other call can name; for workers."""


@verb()
def enqueue_many(
    shared: Annotated[NewJob, Parameter("jsonb", _encode_job)],
    arguments: Annotated[
        Sequence[Mapping[str, JSON]] | msgspec.Raw, Parameter("jsonb", _encode_arguments)
    ],
    *,
    declared: bool = True,
    **actor: Unpack[Actor],
) -> tuple[int, ...]: ...


@verb()
def queue(job: int, *, run_at: datetime | None = None, **actor: Unpack[Actor]) -> Job: ...


@verb(safe=True)
def promote(n: Int4 = 500) -> Promoted: ...
