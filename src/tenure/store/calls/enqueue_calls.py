"""Jobs on their way in, and on their way to being ready."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from tenure.domain.job import JSON, Job, NewJob
from tenure.domain.options import DECLARABLE
from tenure.errors import InputRefused
from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor, of_job
from tenure.store.new_jobs import as_json, checked, refuse_not_json
from tenure.store.reading import answer
from tenure.store.results import Enqueued, Promoted


def enqueue(
    jobs: NewJob | Sequence[NewJob],
    *,
    said: Sequence[Collection[str]] | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[tuple[Enqueued, ...]]:
    """Enqueue jobs that carry all that their tasks declare.

    With ``said`` they do not: of what a task can declare, only these fields of each are sent, and
    the database fills in the rest from the catalogue.
    """
    call = [jobs] if isinstance(jobs, NewJob) else list(jobs)
    order = checked(call)
    batch = [call[place] for place in order]
    sent = batch if said is None else [_partial(call[place], said[place]) for place in order]

    def read(text: bytes | str) -> tuple[Enqueued, ...]:
        by_place = dict(zip(order, answer(tuple[Enqueued, ...])(text), strict=True))
        return tuple(by_place[place] for place in range(len(call)))

    return Call(
        "enqueue",
        {
            "jobs": Argument(as_json(sent), "jsonb"),
            "declared": Argument(said is None, "bool"),
            **actor(by, via),
        },
        read,
        safe=bool(batch)
        and all(job.idempotency for job in batch if not isinstance(job.parent, str)),
    )


def _partial(job: NewJob, said: Collection[str]) -> dict[str, JSON]:
    whole = msgspec.structs.asdict(job)
    default = msgspec.structs.asdict(NewJob())
    return {
        name: value
        for name, value in whole.items()
        if (name in said if name in DECLARABLE else value != default[name])
    }


def enqueue_reserved(
    job: NewJob,
    *,
    idempotency: str | None = None,
    unique: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[tuple[Enqueued, ...]]:
    """Enqueue a job for Tenure itself, with keys that no other call can name; for workers."""
    checked([job])
    return Call(
        "enqueue_reserved",
        {
            "job": Argument(as_json(job), "jsonb"),
            "idempotency": Argument(idempotency, "text"),
            "unique": Argument(unique, "text"),
            **actor(by, via),
        },
        answer(tuple[Enqueued, ...]),
        safe=bool(idempotency or job.idempotency),
    )


def enqueue_many(
    job: NewJob,
    arguments: Sequence[Mapping[str, JSON]] | msgspec.Raw,
    *,
    by: str | None = None,
    via: str = "python",
) -> Call[tuple[int, ...]]:
    checked([job])
    if not isinstance(arguments, msgspec.Raw):
        for value in arguments:
            refuse_not_json(value)
    return Call(
        "enqueue_many",
        {
            "arguments": Argument(as_json(arguments), "jsonb"),
            "shared": Argument(as_json(job), "jsonb"),
            "declared": Argument(True, "bool"),
            **actor(by, via),
        },
        answer(tuple[int, ...]),
    )


def queue(
    job: int, *, run_at: datetime | None = None, by: str | None = None, via: str = "python"
) -> Call[Job]:
    if run_at is not None and run_at.tzinfo is None:
        raise InputRefused("run_at has no time zone; give it one")
    return Call(
        "queue",
        {**of_job(job), "run_at": Argument(run_at, "timestamptz"), **actor(by, via)},
        answer(Job),
    )


def promote(n: int = 500) -> Call[Promoted]:
    return Call("promote", {"n": Argument(n, "int4")}, answer(Promoted), safe=True)
