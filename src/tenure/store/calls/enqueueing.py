"""Jobs on their way in, and on their way to being ready."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from tenure.domain.job import JSON, Job, NewJob
from tenure.errors import InputRefused
from tenure.store.call import Argument, Call, answer
from tenure.store.calls.arguments import actor, of_job
from tenure.store.new_jobs import as_json, checked, refuse_not_json
from tenure.store.results import Enqueued, Promoted


def enqueue(
    jobs: NewJob | Sequence[NewJob],
    *,
    by: str | None = None,
    via: str = "python",
) -> Call[tuple[Enqueued, ...]]:
    call = [jobs] if isinstance(jobs, NewJob) else list(jobs)
    order = checked(call)
    batch = [call[place] for place in order]

    def read(text: bytes | str) -> tuple[Enqueued, ...]:
        by_place = dict(zip(order, answer(tuple[Enqueued, ...])(text), strict=True))
        return tuple(by_place[place] for place in range(len(call)))

    return Call(
        "enqueue",
        {"jobs": Argument(as_json(batch), "jsonb"), **actor(by, via)},
        read,
        safe=bool(batch)
        and all(job.idempotency for job in batch if not isinstance(job.parent, str)),
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
        refuse_not_json(list(arguments))
    return Call(
        "enqueue_many",
        {
            "arguments": Argument(as_json(arguments), "jsonb"),
            "shared": Argument(as_json(job), "jsonb"),
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
