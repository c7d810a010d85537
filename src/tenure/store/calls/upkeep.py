"""Keeping house: the dead, the old, what policies reach, and what was begun."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from tenure.domain.lifecycle import State
from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor, as_list, of_job
from tenure.store.new_jobs import as_json
from tenure.store.reading import answer
from tenure.store.results import Pruned, PrunedRecords, Recovery, Sweep
from tenure.store.rollups import RolledUp
from tenure.store.ruled import Bulk, Discard, Enforced


def recover(
    *,
    grace: timedelta = timedelta(0),
    orphan_after: timedelta = timedelta(minutes=2),
    pending_after: timedelta | None = None,
    jobs: Sequence[int] | None = None,
    dry_run: bool = False,
    message: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[Recovery]:
    """Somebody who is named is on record."""
    arguments = {
        "grace": Argument(grace, "interval"),
        "orphan_after": Argument(orphan_after, "interval"),
        "pending_after": Argument(pending_after, "interval"),
        "ids": Argument(as_list(jobs), "int8[]"),
        "dry_run": Argument(dry_run, "bool"),
        **actor(by, via),
    }
    if message is not None:
        arguments["message"] = Argument(message, "text")
    return Call("recover", arguments, answer(Recovery), safe=True)


def sweep(grace: timedelta = timedelta(0)) -> Call[Sweep]:
    """Who is dead by now, and in which tenants the dead have left jobs."""
    return Call(
        "sweep", {"grace": Argument(grace, "interval")}, answer(Sweep), safe=True, control=True
    )


def prune(
    keep: Mapping[State, timedelta],
    *,
    keep_events: timedelta | None = None,
    n: int = 1000,
) -> Call[Pruned]:
    seconds = {str(state): f"{span.total_seconds()} seconds" for state, span in keep.items()}
    return Call(
        "prune",
        {
            "keep": Argument(as_json(seconds), "jsonb"),
            "keep_events": Argument(keep_events, "interval"),
            "n": Argument(n, "int4"),
        },
        answer(Pruned),
        safe=True,
    )


def prune_records(
    *, keep_records: timedelta | None = None, keep_audit: timedelta | None = None
) -> Call[PrunedRecords]:
    return Call(
        "prune_records",
        {
            "keep_records": Argument(keep_records, "interval"),
            "keep_audit": Argument(keep_audit, "interval"),
        },
        answer(PrunedRecords),
        safe=True,
    )


def roll_up(n: int = 10_000, *, every: timedelta = timedelta(0)) -> Call[RolledUp]:
    return Call(
        "roll_up",
        {"every": Argument(every, "interval"), "n": Argument(n, "int4")},
        answer(RolledUp),
        safe=True,
    )


def enforce_policies(n: int = 100, *, every: timedelta = timedelta(0)) -> Call[Enforced]:
    return Call(
        "enforce_policies",
        {"every": Argument(every, "interval"), "n": Argument(n, "int4")},
        answer(Enforced),
        safe=True,
    )


def advance_bulk(n: int = 100, *, bulk: int | None = None) -> Call[Bulk | None]:
    """The oldest open one, or this; none when nobody has to, or somebody else just does."""
    return Call(
        "advance_bulk",
        {"n": Argument(n, "int4"), "bulk": Argument(bulk, "int8")},
        answer(Bulk | None),
        safe=True,
    )


def discards(n: int = 50) -> Call[tuple[Discard, ...]]:
    return Call("discards", {"n": Argument(n, "int4")}, answer(tuple[Discard, ...]), safe=True)


def discarded(job: int, urls: Sequence[str], *, error: str | None = None) -> Call[dict[str, Any]]:
    return Call(
        "discarded",
        {**of_job(job), "urls": Argument(list(urls), "text[]"), "error": Argument(error, "text")},
        answer(dict[str, Any]),
        safe=True,
    )
