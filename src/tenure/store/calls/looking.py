"""Looking at jobs and at what was done to them."""

from collections.abc import Mapping
from typing import Any, Literal

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import JSON, Job
from tenure.store.call import Argument, Call, answer
from tenure.store.calls.arguments import of_job
from tenure.store.new_jobs import as_json
from tenure.store.results import AuditRow, Explanation, Movements, Pool, Statistics, Worker


def show(job: int) -> Call[Job]:
    return Call("show", of_job(job), answer(Job), safe=True)


def list_jobs(
    filters: Mapping[str, JSON] | None = None, *, below: int | None = None, n: int = 50
) -> Call[tuple[Job, ...]]:
    return Call(
        "list_jobs",
        {
            "filter": Argument(as_json(filters or {}), "jsonb"),
            "below": Argument(below, "int8"),
            "n": Argument(n, "int4"),
        },
        answer(tuple[Job, ...]),
        safe=True,
    )


def explain(job: int) -> Call[Explanation]:
    return Call("explain", of_job(job), answer(Explanation), safe=True)


def statistics() -> Call[Statistics]:
    return Call("statistics", {}, answer(Statistics), safe=True)


def cancellation(name: str | None = None, *, job: int | None = None) -> Call[CancellationRecord]:
    return Call(
        "cancellation",
        {"name": Argument(name, "text"), **of_job(job)},
        answer(CancellationRecord),
        safe=True,
    )


def cancellations(n: int = 10, skip: int = 0) -> Call[tuple[CancellationRecord, ...]]:
    return Call(
        "cancellations",
        {"n": Argument(n, "int4"), "skip": Argument(skip, "int4")},
        answer(tuple[CancellationRecord, ...]),
        safe=True,
    )


def movements(above: int | None = None) -> Call[Movements]:
    """Records that are open, and those that ended since ``last`` of the answer before."""
    return Call("movements", {"above": Argument(above, "int8")}, answer(Movements), safe=True)


def trail(
    subject: str | None = None, name: str | None = None, *, below: int | None = None, n: int = 50
) -> Call[tuple[AuditRow, ...]]:
    return Call(
        "trail",
        {
            "subject": Argument(subject, "text"),
            "name": Argument(name, "text"),
            "below": Argument(below, "int8"),
            "n": Argument(n, "int4"),
        },
        answer(tuple[AuditRow, ...]),
        safe=True,
    )


def kept(
    job: int, kind: Literal["partials", "logs", "events"], *, above: int = 0, n: int = 1000
) -> Call[tuple[dict[str, Any], ...]]:
    return Call(
        "kept",
        {
            **of_job(job),
            "kind": Argument(kind, "text"),
            "above": Argument(above, "int8"),
            "n": Argument(n, "int4"),
        },
        answer(tuple[dict[str, Any], ...]),
        safe=True,
    )


def workers(*, all: bool = False) -> Call[tuple[Worker, ...]]:  # noqa: A002
    return Call(
        "workers",
        {"all": Argument(all, "bool")},
        answer(tuple[Worker, ...]),
        safe=True,
        control=True,
    )


def pools(pool: str | None = None) -> Call[tuple[Pool, ...]]:
    return Call("pools", {"pool": Argument(pool, "text")}, answer(tuple[Pool, ...]), safe=True)
